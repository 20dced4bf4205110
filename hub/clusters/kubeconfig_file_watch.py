"""Notices changes of kubeconfig files: also those made by replacing a link, as mounted Secrets are updated."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from worker_agent.kube.clock import Clock

POLL_SECONDS: Final = 1.0
"""Files are few and changed rarely; one look a second costs less than a watch on every parent directory."""

Signature = tuple[str, int, int] | None


class KubeconfigFileWatch:
    """``changed(path)`` is called for every followed path whose content may be another. A path may serve several."""

    def __init__(self, clock: Clock, changed: Callable[[Path], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._paths: dict[str, Path] = {}
        self._seen: dict[Path, Signature] = {}

    def follow(self, cluster: str, path: Path) -> None:
        if self._paths.get(cluster) == path:
            return
        self.forget(cluster)
        self._paths[cluster] = path
        self._seen.setdefault(path, signature(path))

    def forget(self, cluster: str) -> None:
        path = self._paths.pop(cluster, None)
        if path is not None and path not in self._paths.values():
            self._seen.pop(path, None)

    async def run(self) -> None:
        while True:
            await self._clock.sleep(POLL_SECONDS)
            for path, before in list(self._seen.items()):
                now = signature(path)
                if now != before:
                    self._seen[path] = now
                    self._changed(path)


def signature(path: Path) -> Signature:
    """Where the path leads and what its file looks like from outside; None where there is none."""
    try:
        resolved = path.resolve(strict=True)
        status = resolved.stat()
    except OSError:
        return None
    return str(resolved), status.st_mtime_ns, status.st_size

"""Logs of pods on standard output, one after the other or, when they are followed, all at the same time."""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from hub.app.job_following import PodThere
from hub.app.remote_pods import LogQuery
from hub.cli import output
from worker_agent.api.document import Document
from worker_agent.kube.errors import ApiError, BadRequest

AGAIN: Final = "the container goes on: ask again, with --since for what was missed"
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods and containers; ``most`` is how many logs may be followed at a time."""

    container: str = ""
    pod: str = ""
    all_pods: bool = False
    all_containers: bool = False
    most: int = 5


@dataclass(frozen=True, slots=True)
class ContainerLog:
    pod: PodThere
    container: str

    @property
    def title(self) -> str:
        return f"[{'/'.join(part for part in ('pod', self.pod.name, self.container) if part)}] "


class LogPrinter:
    """``prefix`` begins every line with its pod and container."""

    def __init__(self, *, prefix: bool = False) -> None:
        self._prefix = prefix

    async def print(self, pods: list[PodThere], selection: Selection, query: LogQuery) -> None:
        """Raises ApiError, ConnectionError; ends the program for wrong use."""
        chosen = _chosen(pods, selection)
        logs = [log for pod in chosen for log in _containers(pod, selection)]
        if not query.follow:
            for log in logs:
                await self._print(log, query)
            return
        if len(logs) > selection.most:
            output.fail(f"there are {len(logs)} logs to follow: set --max-log-requests {len(logs)}, or name a --pod", 2)
        try:
            async with asyncio.TaskGroup() as group:
                for log in logs:
                    group.create_task(self._print(log, query))
        except BaseExceptionGroup as problems:
            raise problems.exceptions[0] from None

    async def _print(self, log: ContainerLog, query: LogQuery) -> None:
        pod = log.pod
        try:
            stream = await pod.source.log(pod.workload, pod.name, replace(query, container=log.container))
        except BadRequest as error:
            where = f"cluster {pod.cluster}: " if pod.cluster else ""
            why = error.message.removeprefix(where)  # the hub names the cluster too
            raise type(error)(error.status, error.reason, f"{where}pod {pod.name}: {why}") from None
        title = log.title.encode() if self._prefix else b""
        rest = b""
        try:
            async for piece in stream.stream:
                *lines, rest = (rest + piece).split(b"\n")
                _write(b"".join(title + line + b"\n" for line in lines))
            _write(title + rest if rest else b"")
        except BrokenPipeError:  # who reads what we print has seen enough
            raise
        except ConnectionError as error:
            _write(title + rest + b"\n" if rest else b"")
            output.fail(f"cluster {pod.cluster}: the log of pod {pod.name} broke off: {error}; {AGAIN}")
        finally:
            await stream.close()


def _write(raw: bytes) -> None:
    if raw:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()


def _chosen(pods: list[PodThere], selection: Selection) -> list[PodThere]:
    if selection.pod:
        named = [pod for pod in pods if pod.name == selection.pod]
        if not named:
            there = ", ".join(pod.name for pod in pods)
            raise ApiError(404, "NotFound", f"the job has no pod {selection.pod}; it has {there}")
        return named
    if selection.all_pods or len(pods) == 1:
        return pods
    output.say(f"Found {len(pods)} pods, using pod/{pods[0].name}; for all of them: --all-pods")
    return pods[:1]


def _containers(there: PodThere, selection: Selection) -> Iterator[ContainerLog]:
    spec = there.pod["spec"]
    names = [container["name"] for container in spec.get("containers") or ()]
    if selection.all_containers:
        first = [container["name"] for container in spec.get("initContainers") or ()]
        yield from (ContainerLog(there, name) for name in (*first, *names))
        return
    if selection.container:
        yield ContainerLog(there, selection.container)
        return
    default = _default(there.pod, names)
    if len(names) > 1 and not selection.all_pods:
        output.say(f'Defaulted container "{default}" out of: {", ".join(names)}')
    yield ContainerLog(there, default)


def _default(pod: Document, names: list[str]) -> str:
    marked = (pod["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER, "")
    return marked if marked in names else names[0]

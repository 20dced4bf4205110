"""API servers for tests that are not coroutines: embedded or real, on an event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from hub.local.apiserver import kubeconfig_files, serve
from hub.local.apiserver.serve import RunningServer, ServerConfig
from hub.local.objects import SYSTEM_NAMESPACE
from hub.local.real import accounts, binaries, control_plane, seed
from hub.local.real.control_plane import ControlPlane, ControlPlaneConfig
from tests.cluster_choice import EMBEDDED, built
from tests.realcluster import rights_log
from worker_agent.api.document import Document

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Server:
    """An API server that answers at ``url``; ``kubeconfig`` is an administrator's, as a document and as a file."""

    sort: str
    url: str
    kubeconfig: Document
    kubeconfig_file: Path
    accounts: Mapping[str, Document] = field(default_factory=dict)
    """Of real ones: kubeconfigs of the programs' accounts."""


@dataclass
class Clusters:
    """Starts servers and stops them all at the end. Use as a context manager."""

    folder: Path
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _numbers: Iterator[int] = field(default_factory=count)
    _running: list[RunningServer | ControlPlane] = field(default_factory=list)

    def __enter__(self) -> "Clusters":
        self._thread = threading.Thread(target=self._loop.run_forever, name="clusters", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for running in self._running:
                self._finish(running.stop())
                if isinstance(running, ControlPlane):
                    rights_log.keep(running.files.audit_log)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def start(self, *sorts: str, crds: list[Document] | None = None) -> list[Server]:
        """One server of each sort, started together. Namespaces end and owners' dependents go; Jobs stay unrun."""
        starting = [self._begin(self._one(sort, crds or [])) for sort in sorts]
        return [found.result() for found in starting]

    async def _one(self, sort: str, crds: list[Document]) -> Server:
        folder = self.folder / f"{sort}-{next(self._numbers)}"
        running: RunningServer | ControlPlane
        logins: dict[str, Document] = {}
        if sort == EMBEDDED:
            running = await serve.start(ServerConfig(data_dir=folder, name=sort, crds=crds))
            kubeconfig = running.kubeconfig()
        else:
            programs = binaries.in_folder(await asyncio.to_thread(built, sort))
            audited = [accounts.group(SYSTEM_NAMESPACE)] if rights_log.wanted() else ()
            config = ControlPlaneConfig(
                folder, programs, sort, crds=crds, jobs=False, seed=seed.given(), audited_groups=audited
            )
            running = await control_plane.start(config)
            kubeconfig = running.kubeconfig
            logins = await _logins(running)
        self._running.append(running)
        path = folder / "kubeconfig"
        kubeconfig_files.write(path, kubeconfig)
        return Server(sort, running.url, kubeconfig, path, logins)

    def _begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        return self._begin(work).result()


async def _logins(plane: ControlPlane) -> dict[str, Document]:
    """The programs' accounts, made, and a kubeconfig of each."""
    client = plane.connect("fedhub-tests")
    try:
        await accounts.install(client, SYSTEM_NAMESPACE, seeded=plane.config.seed is not None)
        return {
            account: await accounts.kubeconfig(client, plane.kubeconfig, SYSTEM_NAMESPACE, account)
            for account in accounts.ACCOUNTS
        }
    finally:
        await client.close()

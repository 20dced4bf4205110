"""Member clusters for tests of the installation: a real control plane, simulated machines, and pods that really run.

Jobs' pods are simulated; those of the namespace ``fedhub-system`` are processes of this machine (``pod_processes``).
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from hub.local.apiserver import kubeconfig_files
from hub.local.real import binaries, control_plane
from hub.local.real.control_plane import ControlPlane, ControlPlaneConfig
from hub.local.simulation import cluster as simulation
from hub.local.simulation.shape import ClusterShape
from tests.cluster_choice import NEWEST, built
from tests.realcluster.pod_files import ApiServer
from tests.realcluster.pod_processes import PodProcesses
from worker_agent.api.document import Document
from worker_agent.kube.clock import SystemClock

T = TypeVar("T")

NAMESPACE: Final = "fedhub-system"


@dataclass(frozen=True, slots=True)
class Member:
    """A cluster that answers at ``plane.url``; ``kubeconfig`` is the file of an administrator."""

    name: str
    plane: ControlPlane
    kubeconfig: Path
    pods: PodProcesses


@dataclass
class Members:
    """Starts clusters and stops them all at the end. Use as a context manager."""

    folder: Path
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __enter__(self) -> "Members":
        self._thread = threading.Thread(target=self._loop.run_forever, name="members", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._begin(self._stack.aclose()).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def start(self, shapes: dict[str, ClusterShape], crds: list[Document] | None = None) -> list[Member]:
        """One cluster by each name, started together, in the newest release of Kubernetes that is tested."""
        starting = [self._begin(self._one(name, shape, crds or [])) for name, shape in shapes.items()]
        return [found.result() for found in starting]

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work`` done on the loop of the clusters."""
        return self._begin(work).result()

    async def _one(self, name: str, shape: ClusterShape, crds: list[Document]) -> Member:
        folder = self.folder / name
        programs = binaries.in_folder(await asyncio.to_thread(built, NEWEST))
        plane = await control_plane.start(ControlPlaneConfig(folder, programs, name, crds=crds, routed=True))
        self._stack.push_async_callback(plane.stop)
        path = folder / "kubeconfig"
        kubeconfig_files.write(path, plane.kubeconfig)
        client = plane.connect("kubelet")
        self._stack.push_async_callback(client.close)
        server = ApiServer("127.0.0.1", plane.port, plane.files.authority.read_bytes())
        pods = PodProcesses(client, server, folder / "pods", NAMESPACE)
        machines = simulation.run_machines(client, shape, SystemClock(), played_pods=f"metadata.namespace!={NAMESPACE}")
        for work in (pods.run(), machines):
            self._stack.push_async_callback(_cancelled, asyncio.ensure_future(work))
        return Member(name, plane, path, pods)

    def _begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _cancelled(task: "asyncio.Future[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

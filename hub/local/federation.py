"""A federation on this machine: an API server with simulated nodes per cluster, real agents, the real hub.

``Federation.up`` is the whole start in order; every step waits for a condition and none sleeps for a fixed time. Each
program is a process of its own, so that any of them can be killed and started again (``restart``).
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from hub.app import enrolling, roles
from hub.local import demo_kinds, objects, processes, programs
from hub.local.layout import Layout
from hub.local.processes import Process
from hub.local.programs import Clusters, Program
from hub.local.real import binaries
from hub.local.spec import Cluster, FederationSpec, documents
from worker_agent.api.resource_type import ADMISSION_CHECKS, CLUSTER_QUEUES, MULTIKUEUE_CLUSTERS, ResourceType
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.tunnel import joining

Say = Callable[[str], None]

TOKEN_LIFETIME = timedelta(minutes=10)
START_TIMEOUT_SECONDS = 120.0
"""One that ends says so at once; on two busy cores one may take most of a minute to load its modules."""
REAL_START_TIMEOUT_SECONDS = 240.0
"""Real control planes take 5 to 20 s of their own each, and turns on a machine with few cores."""


class FederationError(RuntimeError):
    """The federation could not be started or used; the text says which part, why, and where its log is."""


@dataclass
class Federation:
    """One federation in ``layout``, made of ``spec`` with the manifests in ``folder``. Not for two users at a time."""

    spec: FederationSpec
    folder: Path
    layout: Layout
    persistent: bool = False
    """Keep every cluster's objects in SQLite, so that its API server may be killed."""
    real: bool = False
    """Real control planes, from the folder KUBEBUILDER_ASSETS names, in place of the embedded API server."""
    audit: bool = False
    """Have real control planes log every write (``audit.log`` in the cluster's folder)."""
    audit_programs: bool = False
    """Have them log there every request of hub and agents."""
    programs: dict[str, Program] = field(default_factory=dict)
    running: dict[str, Process] = field(default_factory=dict)

    async def up(self, say: Say) -> None:
        """Starts everything and returns when jobs can be submitted. Raises FederationError; then call ``down``."""
        self._refuse_unwritable()
        self._refuse_second()
        self._refuse_missing()
        module = programs.REAL_CLUSTER if self.real else programs.EMBEDDED_CLUSTER
        made = programs.of(self.spec, self.layout, self._clusters(module))
        self.programs = {program.name: program for program in made}
        what = "real control planes" if self.real else "API servers"
        say(f"starting {len(self.spec.clusters)} {what} with simulated nodes")
        await self._start([name for name in self.programs if _is_cluster(name)])
        programs.write_kubeconfig(self.spec, self.layout)
        say("starting the hub and an agent for each worker")
        await self._start([name for name in self.programs if not _is_cluster(name)])
        say("applying queues")
        await asyncio.gather(*(self._apply(cluster) for cluster in self.spec.clusters))
        for worker in self.spec.workers:
            if worker.source == "agent" and self.spec.manager:
                say(f"{worker.name} joins: its agent dials the hub")
                await self._join(worker, self.spec.manager)
        say("waiting for the hub to reach every worker")
        await self._settled()

    def _clusters(self, module: str) -> Clusters:
        return Clusters(module, self.persistent, self.audit, self.audit_programs)

    def down(self) -> None:
        """Stops every process of this federation, agents first, API servers last."""
        if not self.running:
            return  # the record on disk, if any, is another federation's
        stop(list(self.running.values()))
        self.running.clear()
        self.layout.processes.unlink(missing_ok=True)

    def restart(self, name: str) -> None:
        """Starts a program that has ended again, with the settings it had."""
        program = self.programs[name]
        self.running[name] = processes.start(name, program.argv, self.layout.log(name))
        processes.save(self.layout.processes, list(self.running.values()))

    def _refuse_unwritable(self) -> None:
        root = self.layout.root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                pass
        except OSError as error:
            raise FederationError(f"--state {root}: {error.strerror}; name a folder that can be written") from None

    def _refuse_second(self) -> None:
        alive = [process.name for process in processes.saved(self.layout.processes) if process.alive]
        if alive:
            raise FederationError(
                f"a federation already runs in {self.layout.root} ({', '.join(alive)});"
                f" stop it with: fedhub down --state {self.layout.root}"
            )

    def _refuse_missing(self) -> None:
        if self.real:
            try:
                binaries.find()
            except binaries.BinariesError as error:
                raise FederationError(str(error)) from None

    async def _start(self, names: list[str]) -> None:
        for name in names:
            self.restart(name)
        await asyncio.gather(*(self.ready(name) for name in names))

    async def ready(self, name: str) -> None:
        """Returns when the program serves. Raises FederationError where it ended, or after START_TIMEOUT_SECONDS."""
        await self._until(self.programs[name].ready, f"{name} is not ready", name)

    async def _apply(self, cluster: Cluster) -> None:
        is_manager = cluster == self.spec.manager
        folder = self.folder / ("manager" if is_manager else f"workers/{cluster.name}")
        wanted = [*objects.system(), *documents(folder)]
        if self.spec.job_kinds:
            wanted += demo_kinds.prerequisites()
        if is_manager:
            for worker in self.spec.workers:
                wanted += objects.registration(worker, self._credential(worker))
        async with connect(self.layout, cluster.name) as client:
            await objects.apply(client, wanted)

    def _credential(self, worker: Cluster) -> str:
        """The kubeconfig by which the hub reaches a worker that does not dial."""
        found = self._clusters(programs.REAL_CLUSTER if self.real else programs.EMBEDDED_CLUSTER)
        return found.kubeconfig(self.layout, worker.name, roles.DISPATCH).read_text()

    async def _join(self, worker: Cluster, manager: Cluster) -> None:
        """What `fedhub enroll` and `fedhub-agent join` do."""
        hubs = (programs.door_address(self.layout),)
        async with connect(self.layout, manager.name) as client:
            invited = await enrolling.invite(client, objects.SYSTEM_NAMESPACE, worker.name, TOKEN_LIFETIME)
        invitation = joining.Invitation(invited.agent, hubs, invited.token.text, invited.pin)

        async def joined() -> bool:
            async with connect(self.layout, worker.name) as client:
                try:
                    await joining.join(client, objects.SYSTEM_NAMESPACE, invitation, client.clock.now(), replace=True)
                except (ConnectionError, joining.JoinError):
                    return False  # the hub does not serve agents yet
            return True

        await self._until(joined, f"{worker.name} could not join", programs.HUB)

    async def _settled(self) -> None:
        if self.spec.manager:
            async with connect(self.layout, self.spec.manager.name) as client:
                for resource in (MULTIKUEUE_CLUSTERS, ADMISSION_CHECKS, CLUSTER_QUEUES):
                    await self._active(client, resource, programs.HUB)
        for worker in self.spec.workers:
            async with connect(self.layout, worker.name) as client:
                await self._active(client, CLUSTER_QUEUES, f"agent-{worker.name}")

    async def _active(self, client: Client, resource: ResourceType, program: str) -> None:
        async def all_active() -> bool:
            return not await objects.inactive(client, resource)

        await self._until(all_active, f"some {resource.plural} are not Active", program)

    async def _until(self, condition: Callable[[], Awaitable[bool]], problem: str, program: str) -> None:
        """Waits for ``condition``; the program's end, or no end of waiting, is a FederationError naming its log."""
        pause = 0.02
        waited = 0.0
        patience = REAL_START_TIMEOUT_SECONDS if self.real else START_TIMEOUT_SECONDS
        while not await condition():
            process = self.running.get(program)
            if process is not None and not process.alive:
                raise FederationError(
                    f"{program} ended during the start; its last words: {tail(self.layout.log(program))}"
                )
            if waited > patience:
                log = self.layout.log(program)
                raise FederationError(f"{problem} after {patience:g} s; see {log}: {tail(log)}")
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 1.5, 0.25)


@contextlib.asynccontextmanager
async def connect(layout: Layout, cluster: str) -> AsyncIterator[Client]:
    """A client with administrator rights at ``cluster`` of the federation in ``layout``."""
    configuration = kubeconfig.load(layout.cluster_kubeconfig(cluster))
    client = Client(kubernetes_transport.connect(configuration), SystemClock(), user_agent="fedhub-local")
    try:
        yield client
    finally:
        await client.close()


def tail(log: Path, lines: int = 3) -> str:
    """The last lines of a log, for an error message."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return " | ".join(line.strip() for line in text.splitlines()[-lines:]) or "(its log is empty)"


def existing(layout: Layout) -> list[Process]:
    """The processes of a federation that another command started, living or not."""
    return processes.saved(layout.processes)


def stop(started: list[Process]) -> None:
    """Stops the hub and the agents, then the API servers they talk to."""
    processes.stop([process for process in started if not _is_cluster(process.name)])
    processes.stop([process for process in started if _is_cluster(process.name)])


def _is_cluster(program: str) -> bool:
    return program.startswith(f"{programs.CLUSTER}-")

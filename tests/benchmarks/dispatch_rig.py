"""Real or embedded clusters that stay, and contenders that dispatch over them one after the other."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import yaml

from hub.local import processes, programs
from hub.local.federation import Federation, connect
from hub.local.layout import Layout
from hub.local.spec import Cluster, FederationSpec
from tests.benchmarks import equal_workers
from tests.benchmarks.dispatch_run import Contender
from tests.realcluster import kueue
from tests.realcluster.kueue import Kueue
from worker_agent.api import names

OURS = frozenset({"fedhub-hub", "fedhub", "fedhub-agent"})
"""User agents: the hub on the manager, the hub at workers, the agents."""
CAPACITY_AWARE = Contender("capacity-aware", "", OURS)
ALL_AT_ONCE = Contender("AllAtOnce", names.DISPATCHER_ALL_AT_ONCE, OURS)
INCREMENTAL = Contender("Incremental", names.DISPATCHER_INCREMENTAL, OURS)
PEER = Contender("Kueue 0.17.0", None, frozenset({kueue.USER_AGENT}))
LIKE_PEER = Contender("like the peer", "", OURS, {"featureGates": {"DisableWaitForPodsReady": True}})
"""Our policy without waitForPodsReady, which Kueue 0.17.0 has switched off unless told otherwise."""
CONTENDERS = (CAPACITY_AWARE, LIKE_PEER, ALL_AT_ONCE, INCREMENTAL)

MANIFESTS = "manifests"
Say = Callable[[str], None]


class Rig:
    """``start``, then ``use`` a contender for each run, ``stop`` at the end. The peer is last: definitions change."""

    def __init__(self, folder: Path, workers: int, room_for_jobs: int, real: bool) -> None:
        self._build(folder, equal_workers.write(folder / MANIFESTS, workers, room_for_jobs), real)

    @classmethod
    def alone(cls, folder: Path, jobs: int, workloads: int) -> Self:
        """One real cluster with an agent and no manager."""
        rig = cls.__new__(cls)
        rig._build(folder, equal_workers.write_alone(folder / MANIFESTS, jobs, workloads), real=True)
        return rig

    def _build(self, folder: Path, found: FederationSpec, real: bool) -> None:
        manifests = folder / MANIFESTS
        self.federation = Federation(found, manifests, Layout(folder / "state"), real=real, audit=real)
        self._settings: dict[str, dict[str, Any]] = {}
        """Of hub and agents, as the federation wrote them."""

    async def start(self, say: Say) -> None:
        """The clusters with our hub, set to its default, and our agents."""
        await self.federation.up(say)

    def stop(self) -> None:
        self.federation.down()

    async def use(self, contender: Contender, peer: Kueue | None, say: Say) -> None:
        """The contender's programs, started anew, in place of those that dispatched before."""
        say(f"{contender.name} takes over")
        self._stop_controllers()
        if contender.is_peer:
            assert peer is not None, "the peer is built before it is used"
            await self._install_peer(peer, self.roles, contender.settings)
        else:
            self._configure(contender)
        await self._start_controllers()

    @property
    def roles(self) -> dict[str, Cluster]:
        """The cluster of each process that dispatches or admits, by the name of the process."""
        spec = self.federation.spec
        hub = {programs.HUB: spec.manager} if spec.manager is not None else {}
        return hub | {f"{programs.AGENT}-{worker.name}": worker for worker in spec.workers}

    async def mix(self, peer: Kueue, roles: Mapping[str, Cluster]) -> None:
        """The peer in ``roles``, ours in all others."""
        self._stop_controllers()
        await self._install_peer(peer, roles, {})
        await self._start_controllers()

    async def _start_controllers(self) -> None:
        started = [name for name in self.federation.programs if not name.startswith(f"{programs.CLUSTER}-")]
        for name in started:
            self.federation.restart(name)
        for name in started:
            await self.federation.ready(name)

    def _stop_controllers(self) -> None:
        running = self.federation.running
        stopped = [name for name in running if not name.startswith(f"{programs.CLUSTER}-")]
        processes.stop([running.pop(name) for name in stopped])

    def _configure(self, contender: Contender) -> None:
        for name in self.federation.programs:
            if name.startswith(f"{programs.CLUSTER}-"):
                continue
            path = self.federation.layout.configuration(name)
            settings = {**self._settings.setdefault(name, yaml.safe_load(path.read_text())), **contender.settings}
            if name == programs.HUB and contender.dispatcher:
                settings["multiKueue"] = {"dispatcherName": contender.dispatcher}
            path.write_text(yaml.safe_dump(settings, sort_keys=False))

    async def _install_peer(self, peer: Kueue, roles: Mapping[str, Cluster], settings: Mapping[str, Any]) -> None:
        layout = self.federation.layout
        for name, cluster in roles.items():
            async with connect(layout, cluster.name) as client:
                await kueue.install(peer, client)
            self.federation.programs[name] = kueue.program(peer, name, cluster, layout, settings)

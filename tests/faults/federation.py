"""The programs of a federation under faults and what is known of its objects, whatever carries the requests."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import Any, Protocol

import msgspec

from hub.app import configuration
from hub.app.hub import Hub
from hub.clusters.credentials import Credential
from hub.settings import HubSettings
from tests.faults.lines import Line
from tests.faults.manifests import MANAGER_CPU, WORKER_CPU
from tests.faults.model import MANAGER, ORIGIN, Model, origin_of
from tests.faults.script import WORKERS, Script
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import LEASES
from worker_agent.app import configuration as agent_configuration
from worker_agent.app.agent import Agent, LeadershipLost, Surroundings
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import NotFound
from worker_agent.kube.faults import Fault, FaultPlan
from worker_agent.kube.transport import Transport
from worker_agent.settings import AgentSettings

COMMON: dict[str, Any] = {
    "integrations": {"frameworks": ["batch/job"]},
    "leader_election": {"leader_elect": False},
    "wait_for_pods_ready": None,
}
ELECTION: Document = {
    "lease_duration": timedelta(seconds=4),
    "renew_deadline": timedelta(seconds=3),
    "retry_period": timedelta(seconds=1),
}
RESTART_SECONDS = 0.5
LEADERSHIP = ("kueue-system", "c1f6bfd2.kueue.x-k8s.io")


@cache
def _agent_settings() -> AgentSettings:
    """Read once: every agent of every history has the same, and to read them takes longer than the agent's start."""
    return AgentSettings(**COMMON)


class Skewed(Clock, Protocol):
    """The clock of one program: its wall time is ``skew`` seconds ahead, and may jump."""

    skew: float


class Federation:
    """Base of those that the histories run on. ``clients`` carry the tests' own wishes, past all faults."""

    clients: dict[str, Client]
    election = ELECTION
    """The hub's, in histories that have one."""
    rest_seconds = 600.0
    """How long everything may take to come to rest once nothing fails any more: the longest backoff and then some."""

    def __init__(self, script: Script, clock: Clock) -> None:
        self.script = script
        self.clock = clock
        self.model = self._model()
        self.lines: dict[str, Line] = {}
        self.identities: dict[str, str] = {}
        """In the hubs' election, of programs that do not go by their own name."""
        self.hub: Hub | None = None
        self._programs: dict[str, asyncio.Task[None]] = {}
        self._clocks: dict[str, Skewed] = {}

    def _model(self) -> Model:
        return Model({MANAGER: MANAGER_CPU * 1000, **{name: WORKER_CPU * 1000 for name in WORKERS}})

    async def begin(self, script: Script) -> None:
        """From now on ``script`` holds: its chances and its clocks. Made for one that was calm so far."""
        self.script = script
        for number, line in enumerate(self.lines.values()):
            line.faults.use(plan(script, number))
            line.faults.injected.clear()
        for program, clock in self._clocks.items():
            clock.skew = script.skews.get(program, 0.0)

    # What the sorts of federations differ in

    def _clock(self, skew: float) -> Skewed:
        raise AssertionError("each sort has a clock of its own")

    def _carrier(self, line: str) -> Transport:
        """What carries the requests of a line, faults included."""
        return self.lines[line]

    def out_of_contact(self) -> list[str]:
        """What is wrong with the hub's connections where everything else is at rest."""
        return []

    async def _hang_up(self, program: str) -> None:
        """The program has ended: its connections end too."""

    def all(self, cluster: str, resource: str) -> list[Document]:
        """Every object of a followed kind that is stored now."""
        raise AssertionError("each sort reads in its own way")

    def stored(self, cluster: str, resource: str, key: Key) -> Document | None:
        raise AssertionError("each sort reads in its own way")

    def _completed(self, name: str) -> None:
        self.model.completions[name] += 1

    # Programs

    def start(self, program: str) -> None:
        if program in self._programs:
            return
        clock = self._clocks[program] = self._clock(self.script.skews.get(program, 0.0))
        agent = self._hub(program, clock) if program.startswith("hub") else self._agent(program, clock)
        self._programs[program] = task = asyncio.create_task(agent.run(asyncio.Event()), name=program)
        task.add_done_callback(lambda done: self._ended(program, done))

    def _ended(self, program: str, task: asyncio.Task[None]) -> None:
        """Who has lost its leadership is started again by whatever runs it."""
        if self._programs.get(program) is task and not task.cancelled() and has_lost_leadership(task.exception()):
            del self._programs[program]
            asyncio.get_running_loop().call_later(RESTART_SECONDS, self.start, program)

    def _agent(self, program: str, clock: Skewed) -> Agent:
        transport = self._carrier(f"{program}>{program.removeprefix('agent-')}")
        surroundings = Surroundings(transport, clock, threaded=False, webhooks=False)
        return Agent(agent_configuration.resolve(_agent_settings()), surroundings)

    def _hub(self, program: str, clock: Skewed) -> Agent:
        stanza = {
            "dispatcher_name": self.script.dispatcher,
            "worker_lost_timeout": self.script.worker_lost_timeout,
            "gc_interval": timedelta(seconds=10),
        }
        common = {**COMMON, "leader_election": self.election} if self.script.elect else COMMON
        settings = HubSettings(multi_kueue=stanza, federation={"round_timeout": timedelta(seconds=15)}, **common)
        agent_settings, federated = configuration.resolve(settings)
        surroundings = Surroundings(
            self._carrier(f"{program}>manager"),
            clock,
            threaded=False,
            webhooks=False,
            identity=self.identities.get(program, program),
        )
        agent = Agent(agent_settings, surroundings)
        self.hub = Hub(agent, replace(federated, threaded=False), transport=partial(self._transport, program))
        return agent

    def _transport(self, program: str, credential: Credential) -> Transport:
        content = (credential.kubeconfig or b"").decode()
        return next(self._carrier(f"{program}>{name}") for name in WORKERS if f"{name}.example" in content)

    def set_clock(self, program: str, skew: float) -> None:
        """Its wall clock jumps to ``skew`` seconds ahead."""
        self._clocks[program].skew = skew

    async def kill(self, program: str) -> None:
        """It ends between two awaits, without a goodbye."""
        task = self._programs.pop(program, None)
        if task is None:
            return
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        await self._hang_up(program)
        if outcome is not None and not isinstance(outcome, asyncio.CancelledError):
            raise outcome

    async def steal_leadership(self) -> None:
        """Somebody else writes the hub's lease, and never renews it."""
        namespace, name = LEADERSHIP
        try:
            spec = msgspec.json.decode(await self.clients[MANAGER].get(LEASES, name, namespace))["spec"]
        except NotFound:
            return
        stolen = {"holderIdentity": "thief", "leaseTransitions": spec.get("leaseTransitions", 0) + 1}
        body = {"spec": {**stolen, "leaseDurationSeconds": 4}}
        await self.clients[MANAGER].patch(LEASES, name, namespace, body, patch_type=PatchType.MERGE)

    def check_alive(self) -> None:
        for task in self._programs.values():
            if task.done() and not has_lost_leadership(task.exception()):
                task.result()

    # Reading

    def ours(self, cluster: str) -> list[str]:
        return [
            f"{resource.rstrip('s')} {found['metadata']['name']}"
            for resource in ("jobs", "workloads")
            for found in self.all(cluster, resource)
            if origin_of(found) == ORIGIN
        ]

    def workload_of(self, name: str) -> Document | None:
        """The manager's Workload of a Job."""
        for found in self.all(MANAGER, "workloads"):
            if any(owner["name"] == name for owner in found["metadata"].get("ownerReferences", ())):
                return found
        return None


def plan(script: Script, number: int) -> FaultPlan:
    chances = {Fault(kind): chance for kind, chance in script.chances.items()}
    return FaultPlan(chances, longest_delay=1.5, seed=script.seed * 31 + number)


def has_lost_leadership(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(has_lost_leadership(each) for each in error.exceptions)
    return isinstance(error, LeadershipLost)

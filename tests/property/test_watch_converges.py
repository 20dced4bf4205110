"""Whatever happens to lists and streams, the store ends equal to the server, and so does who replays its events."""

import asyncio
from typing import Any

import looptime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.kube.fake_server import FakeServer, clock, until
from tests.unit.kube.running import running
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import PODS
from worker_agent.kube.client import Client
from worker_agent.kube.faults import Fault, FaultPlan, FaultyTransport
from worker_agent.kube.informer import Event, EventType, Informer, document

names = st.sampled_from(["a", "b", "c", "d"])
actions = st.one_of(
    st.tuples(st.just("put"), names),
    st.tuples(st.just("remove"), names),
    st.tuples(st.sampled_from(["cut", "compact", "down", "up"]), st.just("")),
    st.tuples(st.just("sleep"), st.sampled_from([0.0, 0.001, 0.3, 5.0, 200.0])),
)
chances = st.fixed_dictionaries(
    {}, optional={fault: st.sampled_from([0.1, 0.3, 0.6]) for fault in Fault if fault is not Fault.CONFLICT}
)


class Replay:
    """Knows only what handlers are told, and insists that it makes sense."""

    def __init__(self) -> None:
        self.objects: dict[Key, Any] = {}
        self.senseless: list[Event[Any]] = []

    def handle(self, event: Event[Any]) -> None:
        if self.objects.get(event.key) != event.old or (event.old is None) != (event.type is EventType.ADDED):
            self.senseless.append(event)
        if event.new is None:
            del self.objects[event.key]
        else:
            self.objects[event.key] = event.new


async def play(script: list[tuple[str, Any]], faults: dict[Fault, float], seed: int) -> None:
    server = FakeServer(page=2)
    transport = FaultyTransport(server, clock(seed), FaultPlan(faults, seed=seed))
    follower: Informer[Any] = Informer(Client(transport, clock(seed)), PODS, document, namespace="ns")
    replay = Replay()
    follower.add_handler(replay.handle)
    async with running(follower):
        for action, argument in script:
            await act(server, transport, action, argument)
        transport.plan.enabled = False
        transport.down = False
        await until(lambda: state(follower) == truth(server), 1200)
    assert replay.senseless == []
    assert replay.objects == state(follower)


async def act(server: FakeServer, transport: FaultyTransport, action: str, argument: Any) -> None:
    if action in ("put", "remove"):
        getattr(server, action)(argument)
    elif action in ("cut", "compact"):
        getattr(server, action)()
    elif action == "sleep":
        await asyncio.sleep(argument)
    else:
        transport.down = action == "down"


def state(follower: Informer[Any]) -> dict[Key, Any]:
    if not follower.synced.is_set():
        return {Key("", ""): None}
    keys = follower.keys()
    return {key: follower.get(key) for key in keys}


def truth(server: FakeServer) -> dict[Key, Any]:
    return {Key(*path.split("/")): item for path, item in server.objects.items()}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=st.lists(actions, max_size=25), faults=chances, seed=st.integers(0, 2**16))
def test_the_store_converges(script: list[tuple[str, Any]], faults: dict[Fault, float], seed: int) -> None:
    with asyncio.Runner(loop_factory=virtual_loop) as runner:
        runner.run(play(script, faults, seed))


def virtual_loop() -> asyncio.AbstractEventLoop:
    return looptime.new_event_loop(start=0.0)

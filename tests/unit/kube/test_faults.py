"""The misbehaving transport misbehaves as said, and repeatably."""

from collections import Counter

import pytest

from tests.unit.kube.fake_server import FakeServer, ScriptedTransport, answer, clock
from worker_agent.api.resource_type import PODS
from worker_agent.kube import errors
from worker_agent.kube.client import Client
from worker_agent.kube.faults import Fault, FaultPlan, FaultyTransport
from worker_agent.kube.retry import NEVER

pytestmark = pytest.mark.looptime


def faulty(fault: Fault) -> tuple[Client, ScriptedTransport]:
    inner = ScriptedTransport(lambda request: answer(200, {"metadata": {}, "items": []}))
    plan = FaultPlan({fault: 1.0}, longest_delay=9.0, seed=3)
    return Client(FaultyTransport(inner, clock(), plan), clock(), retry_policy=NEVER), inner


@pytest.mark.parametrize(
    ("fault", "error", "sent"),
    [
        (Fault.REFUSED, ConnectionError, 0),
        (Fault.LOST_ANSWER, ConnectionError, 1),
        (Fault.CUT, ConnectionError, 1),
        (Fault.CONFLICT, errors.Conflict, 0),
        (Fault.TOO_MANY, errors.TooManyRequests, 0),
        (Fault.SERVER_ERROR, errors.ServerError, 0),
    ],
)
async def test_faults_of_writes(fault: Fault, error: type[Exception], sent: int):
    api, inner = faulty(fault)
    with pytest.raises(error):
        await api.create(PODS, {"metadata": {"name": "p"}}, "ns")
    assert len(inner.requests) == sent


async def test_duplicate_sends_a_write_twice():
    api, inner = faulty(Fault.DUPLICATE)
    await api.create(PODS, {"metadata": {"name": "p"}}, "ns")
    assert len(inner.requests) == 2


async def test_gone_hits_reads_only():
    api, _ = faulty(Fault.GONE)
    await api.create(PODS, {"metadata": {"name": "p"}}, "ns")
    with pytest.raises(errors.Gone):
        await api.get(PODS, "p", "ns")


async def test_watch_lines_come_twice():
    server = FakeServer()
    api = Client(FaultyTransport(server, clock(), FaultPlan({Fault.DUPLICATE: 1.0})), clock())
    server.put("a")
    stream = api.watch(PODS, "ns", resource_version="100")
    assert len(await anext(stream)) == 2
    await stream.aclose()


async def test_the_same_seed_gives_the_same_faults():
    async def run() -> Counter[Fault]:
        inner = ScriptedTransport(lambda request: answer(200, {}))
        transport = FaultyTransport(inner, clock(), FaultPlan({fault: 0.2 for fault in Fault}, seed=11))
        api = Client(transport, clock(), retry_policy=NEVER)
        for _ in range(50):
            try:
                await api.get(PODS, "p", "ns")
            except (errors.ApiError, ConnectionError):
                continue
        return transport.injected

    assert await run() == await run()


async def test_down_refuses_everything():
    transport = FaultyTransport(FakeServer(), clock(), FaultPlan())
    transport.down = True
    with pytest.raises(ConnectionError, match="down"):
        await Client(transport, clock(), retry_policy=NEVER).get(PODS, "p", "ns")

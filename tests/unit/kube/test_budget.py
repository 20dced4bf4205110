"""The rate budget: bursts pass, then the rate holds; push-back pauses everybody."""

import asyncio

import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.api.resource_type import JOBS
from worker_agent.kube.budget import RateBudget
from worker_agent.kube.client import Client

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_burst_passes_at_once_then_the_rate_holds():
    budget = RateBudget(clock(), rate=10, burst=5)
    for _ in range(25):
        await budget.admit()
    assert now() == pytest.approx(2.0, abs=0.01)


async def test_negative_rate_is_unlimited():
    budget = RateBudget(clock(), rate=-1, burst=1)
    for _ in range(1000):
        await budget.admit()
    assert now() == 0


async def test_requests_in_flight_are_bounded():
    budget = RateBudget(clock(), in_flight=3)
    inside = most = 0

    async def request() -> None:
        nonlocal inside, most
        async with budget.slot():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(1)
            inside -= 1

    await asyncio.gather(*(request() for _ in range(10)))
    assert most == 3
    assert now() == pytest.approx(4.0)


async def test_a_cancelled_waiter_gives_its_turn_away():
    budget = RateBudget(clock(), in_flight=1)
    async with budget.slot():
        waiting = asyncio.create_task(budget._enter())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(1), budget.slot():
        pass


async def test_push_back_pauses_everyone_and_halves_the_rate():
    budget = RateBudget(clock(), rate=100, burst=10)
    budget.pushed_back(3.0)
    budget.pushed_back(3.0)
    assert budget.rate == 50
    await budget.admit()
    assert now() == pytest.approx(3.0)
    for _ in range(10_000):
        budget.answered()
    assert budget.rate == 100


async def test_the_client_reports_push_back():
    refusal = answer(429, status(429, "TooManyRequests"), {"retry-after": "5"})
    transport = ScriptedTransport(refusal, lambda request: answer(200, {}))
    budget = RateBudget(clock(), rate=100)
    api = Client(transport, clock(), budget=budget)
    await api.create(JOBS, {}, "ns")
    assert budget.rate == pytest.approx(50.05)
    assert now() >= 5.0


def test_a_rate_of_zero_is_refused():
    class Still:
        def monotonic(self) -> float:
            return 0.0

    with pytest.raises(ValueError, match="rate must not be 0"):
        RateBudget(Still(), rate=0)  # type: ignore[arg-type]

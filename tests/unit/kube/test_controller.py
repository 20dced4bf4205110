"""Reconciling: once at a time per key, again after failures, again when asked."""

import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from tests.unit.kube.fake_server import clock, until
from tests.unit.kube.running import running
from worker_agent.kube.controller import Controller, Result
from worker_agent.kube.errors import Conflict, ReconcileError, ServerError

pytestmark = pytest.mark.looptime


async def test_reconciles_what_is_enqueued():
    seen = []

    async def reconcile(key: str) -> None:
        seen.append(key)

    controller = Controller("test", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        controller.enqueue("b", after=3.0)
        await until(lambda: len(seen) == 2)
    assert seen == ["a", "b"]
    assert asyncio.get_running_loop().time() == pytest.approx(3, abs=0.1)


async def test_never_two_workers_on_one_key():
    inside: Counter[int] = Counter()
    most: Counter[int] = Counter()

    async def reconcile(key: int) -> None:
        inside[key] += 1
        most[key] = max(most[key], inside[key])
        await asyncio.sleep(0.1)
        inside[key] -= 1

    controller = Controller("test", reconcile, workers=4, clock=clock())
    async with running(controller):
        for _ in range(20):
            for key in range(3):
                controller.enqueue(key)
            await asyncio.sleep(0.05)
        await until(lambda: controller.idle)
    assert set(most.values()) == {1}


async def test_as_many_work_as_there_are_keys_and_one_waits():
    def at_work() -> int:
        return sum(task.get_name().startswith("crowd ") for task in asyncio.all_tasks())

    async def reconcile(key: int) -> None:
        await asyncio.sleep(1)

    controller = Controller("crowd", reconcile, workers=4, clock=clock())
    async with running(controller):
        await until(lambda: at_work() == 1)
        controller.enqueue(0)
        await until(lambda: controller.active == 1)
        assert at_work() == 2
        for key in range(1, 9):
            controller.enqueue(key)
        await until(lambda: controller.active == 4)
        assert at_work() == 4
        await until(lambda: controller.results[Result.SUCCESS] == 9)
    assert asyncio.get_running_loop().time() == pytest.approx(3, abs=0.1)


async def test_a_returned_delay_leads_to_another_look():
    times = []

    async def reconcile(key: str) -> float | None:
        times.append(asyncio.get_running_loop().time())
        return 7.0 if len(times) == 1 else None

    controller = Controller("test", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        await until(lambda: len(times) == 2)
    assert times[1] - times[0] == pytest.approx(7, abs=0.1)


async def test_failures_are_tried_again_and_logged(caplog: pytest.LogCaptureFixture):
    tries = 0

    async def reconcile(key: str) -> None:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise RuntimeError("no luck")

    controller = Controller("test", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        await until(lambda: tries == 4 and controller.idle)
    assert controller.results == {Result.ERROR: 3, Result.SUCCESS: 1}
    assert "test a failed 3 times in a row" in caplog.text


async def test_conflicts_are_tried_again_quietly(caplog: pytest.LogCaptureFixture):
    tries = 0

    async def reconcile(key: str) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise Conflict(409, "Conflict", "changed")

    controller = Controller("test", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        await until(lambda: tries == 3)
    assert controller.results == {Result.REQUEUE: 2, Result.SUCCESS: 1}
    assert caplog.text == ""


def test_a_controller_needs_a_worker():
    with pytest.raises(ValueError, match="controller test: workers must be at least 1, not 0"):
        Controller("test", lambda key: None, workers=0, clock=clock())  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("error", "longest"), [(ConnectionError("refused"), 3), (ServerError(500, "InternalError", "no webhook"), 30)]
)
async def test_a_server_that_is_away_or_in_trouble_is_soon_tried_again(error: Exception, longest: float):
    times: list[float] = []
    over = asyncio.Event()

    async def reconcile(key: str) -> None:
        times.append(asyncio.get_running_loop().time())
        if times[-1] < 200:
            raise error
        over.set()

    controller = Controller("test", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        await over.wait()
    assert max(later - earlier for earlier, later in pairwise(times)) == pytest.approx(longest, abs=0.1)


async def test_what_was_cancelled_under_a_reconcile_ends_no_worker():
    """Closing a session cancels what waits for its connections."""
    tries = 0

    async def reconcile(key: str) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            waiting = asyncio.get_running_loop().create_future()
            waiting.cancel()
            await waiting

    controller = Controller("test", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        await until(lambda: tries == 2 and controller.idle)
        controller.enqueue("b")
        await until(lambda: tries == 3)


async def test_a_refusal_is_told_in_one_line_and_tried_again(caplog):
    tries = []

    async def reconcile(key: str) -> None:
        tries.append(key)
        if len(tries) == 1:
            raise ReconcileError("prebuilt workload not found")

    controller = Controller("jobs", reconcile, clock=clock())
    async with running(controller):
        controller.enqueue("ns/a")
        await until(lambda: len(tries) == 2)
    assert "jobs ns/a: prebuilt workload not found; trying again" in caplog.text
    assert "Traceback" not in caplog.text

"""client-go's queue semantics on virtual time."""

import asyncio

import pytest

from tests.unit.kube.fake_server import clock
from worker_agent.kube.workqueue import QueueClosed, WorkQueue

pytestmark = pytest.mark.looptime


def queue() -> WorkQueue[str]:
    return WorkQueue(clock())


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_key_is_queued_once():
    work = queue()
    for key in ("a", "b", "a"):
        work.add(key)
    assert [await work.get(), await work.get()] == ["a", "b"]
    assert len(work) == 0


async def test_a_key_added_while_in_work_comes_back_after_done():
    work = queue()
    work.add("a")
    await work.get()
    work.add("a")
    assert len(work) == 0
    work.done("a")
    assert await work.get() == "a"


async def test_get_waits_for_a_key():
    work = queue()
    getting = asyncio.create_task(work.get())
    await asyncio.sleep(1)
    work.add("a")
    assert await getting == "a"


async def test_a_cancelled_getter_loses_no_key():
    work = queue()
    first, second = asyncio.create_task(work.get()), asyncio.create_task(work.get())
    await asyncio.sleep(1)
    work.add("a")
    first.cancel()
    assert await second == "a"


async def test_later_keys_come_in_order_of_their_time():
    work = queue()
    work.add_after("late", 5)
    work.add_after("early", 2)
    assert (await work.get(), now()) == ("early", pytest.approx(2))
    assert (await work.get(), now()) == ("late", pytest.approx(5))


async def test_of_two_times_the_earlier_counts():
    work = queue()
    work.add_after("a", 5)
    work.add_after("a", 1)
    work.add_after("a", 9)
    assert (await work.get(), now()) == ("a", pytest.approx(1))
    work.done("a")
    await asyncio.sleep(20)
    assert len(work) == 0


async def test_adding_now_makes_the_later_time_void():
    work = queue()
    work.add_after("a", 5)
    work.add("a")
    await work.get()
    work.done("a")
    await asyncio.sleep(20)
    assert len(work) == 0


async def test_failures_double_the_delay_until_forgotten():
    work = queue()
    times = []
    for _ in range(4):
        start = now()
        work.add_rate_limited("a")
        await work.get()
        work.done("a")
        times.append(now() - start)
    assert times == pytest.approx([0.005, 0.01, 0.02, 0.04], abs=1e-3)
    assert work.failures("a") == 4
    work.forget("a")
    assert work.failures("a") == 0


async def test_the_longest_delay_is_a_thousand_seconds():
    work = queue()
    for _ in range(40):
        work.add_rate_limited("a")
        await work.get()
        work.done("a")
    start = now()
    work.add_rate_limited("a")
    await work.get()
    assert now() - start == pytest.approx(1000)


async def test_a_closed_queue_hands_out_what_is_due_then_ends():
    work = queue()
    work.add("a")
    work.add_after("b", 5)
    work.close()
    work.add("c")
    assert await work.get() == "a"
    with pytest.raises(QueueClosed):
        await work.get()


async def test_idle_means_nothing_due_and_nothing_in_work():
    work = queue()
    work.add("a")
    assert not work.idle
    await work.get()
    assert not work.idle
    work.done("a")
    assert work.idle

"""What has to be done in time, and what that costs."""

import asyncio

import pytest

from worker_agent.kube import deadline

pytestmark = pytest.mark.looptime


async def _after(seconds: float, result: object) -> object:
    """Waits twice for half of that."""
    for _ in range(2):
        if seconds:
            await asyncio.sleep(seconds / 2)
    if isinstance(result, Exception):
        raise result
    return result


@pytest.mark.parametrize("seconds", [0.0, 4.0])
async def test_what_is_ready_in_time_is_the_result(seconds):
    assert await deadline.within(5.0, _after(seconds, "answer")) == "answer"


@pytest.mark.parametrize("seconds", [0.0, 4.0])
async def test_an_error_comes_as_it_is(seconds):
    with pytest.raises(ConnectionError, match="cut"):
        await deadline.within(5.0, _after(seconds, ConnectionError("cut")))


async def test_what_takes_too_long_is_ended_at_the_deadline():
    began = asyncio.get_running_loop().time()
    ended = []

    async def late() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(asyncio.get_running_loop().time() - began)

    with pytest.raises(TimeoutError):
        await deadline.within(5.0, late())
    assert ended == [5.0]


async def test_a_cancelled_caller_is_cancelled_and_not_late():
    task = asyncio.create_task(deadline.within(5.0, _after(60.0, "answer")))
    await asyncio.sleep(1.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_shorter_deadline_inside_is_the_one_that_ends():
    with pytest.raises(TimeoutError):
        await deadline.within(5.0, deadline.within(2.0, _after(60.0, "answer")))
    assert asyncio.get_running_loop().time() == pytest.approx(2.0)


async def test_no_timer_is_set_for_what_does_not_wait(monkeypatch):
    monkeypatch.setattr(asyncio, "timeout", lambda seconds: pytest.fail("a timer was set"))
    assert await deadline.within(5.0, _after(0.0, "answer")) == "answer"

"""What looks came to rest on is remembered for a short time and of few keys."""

import asyncio
from datetime import UTC, datetime

import pytest

from worker_agent.api.meta import Key
from worker_agent.controllers.rests import REMEMBERED, SECONDS, Rests
from worker_agent.kube.clock import LoopClock

pytestmark = pytest.mark.looptime

KEY = Key("ns", "a")


@pytest.fixture
async def rests():
    return Rests[str](LoopClock(datetime(2026, 1, 1, tzinfo=UTC)), lambda rest, view: rest == view)


async def test_a_view_is_known_to_rest_while_it_is_the_same(rests):
    assert not rests.holds(KEY, "a")
    rests.note(KEY, "a")
    assert [rests.holds(KEY, view) for view in ("a", "b", "a")] == [True, False, True]
    assert not rests.holds(Key("ns", "b"), "a")
    assert rests.spared == 2


async def test_a_rest_does_not_count_for_long(rests):
    rests.note(KEY, "a")
    await asyncio.sleep(SECONDS)
    assert not rests.holds(KEY, "a")


async def test_the_oldest_rests_are_forgotten(rests):
    for number in range(REMEMBERED + 1):
        rests.note(Key("ns", str(number)), "a")
    assert not rests.holds(Key("ns", "0"), "a")
    assert rests.holds(Key("ns", "1"), "a")

"""How long the next piece of a stream is waited for."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from worker_agent.kube.pieces import PatientReader

pytestmark = pytest.mark.looptime


async def pieces(*pauses: float) -> AsyncIterator[bytes]:
    for pause in pauses:
        await asyncio.sleep(pause)
        yield b"piece"


async def test_a_stream_that_brings_something_in_time_lasts_longer_than_the_limit():
    reader = PatientReader(pieces(*[8.0] * 5), 10.0)
    assert [await reader.next() for _ in range(6)] == [b"piece"] * 5 + [None]
    assert asyncio.get_running_loop().time() == pytest.approx(40.0)


async def test_silence_counts_from_the_last_piece():
    reader = PatientReader(pieces(8.0, 60.0), 10.0)
    await reader.next()
    with pytest.raises(TimeoutError):
        await reader.next()
    assert asyncio.get_running_loop().time() == pytest.approx(18.0)


async def test_the_limit_can_change_between_pieces():
    reader = PatientReader(pieces(1.0, 60.0, 60.0), 100.0)
    await reader.next()
    reader.wait(10.0)
    with pytest.raises(TimeoutError):
        await reader.next()
    assert asyncio.get_running_loop().time() == pytest.approx(11.0)


async def test_the_readers_own_time_does_not_count():
    reader = PatientReader(pieces(1.0, 9.0), 10.0)
    await reader.next()
    await asyncio.sleep(100.0)
    assert await reader.next() == b"piece"


async def test_who_is_cancelled_hears_of_that_and_of_no_silence():
    reader = PatientReader(pieces(60.0), 10.0)
    reading = asyncio.create_task(reader.next())
    await asyncio.sleep(5.0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    reader.close()

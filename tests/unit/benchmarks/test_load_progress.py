"""What a benchmark of many minutes tells of how far it is, and how long it waits."""

import asyncio

import pytest
from rich.console import Console

from tests.benchmarks import load_progress
from tests.benchmarks.load_progress import LoadProgress
from tests.benchmarks.workload_load import Patience


async def test_where_nothing_is_drawn_a_line_tells_how_far_a_phase_is(monkeypatch):
    monkeypatch.setattr(load_progress, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(load_progress, "LINE_SECONDS", 0.0)
    told = asyncio.Queue()
    with LoadProgress(Console(force_terminal=False), told.put_nowait) as progress:
        async with progress.following("Workloads admitted", 5, lambda: 2):
            assert await told.get() == "Workloads admitted: 2 of 5"
    assert told.empty()


async def test_patience_ends_where_nothing_happens():
    with pytest.raises(TimeoutError):
        async with Patience(0.0).limit():
            await asyncio.Event().wait()


async def test_patience_begins_anew_with_each_step():
    patience = Patience(3600.0)
    async with patience.limit() as limit:
        first = limit.when()
        patience.renew()
        assert limit.when() > first

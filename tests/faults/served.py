"""Histories in real time, over HTTP, on embedded or on real API servers: one after another on one set of servers."""

import asyncio
import logging
import signal
import tempfile
from collections.abc import AsyncIterator, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import aclosing
from pathlib import Path

from tests.faults import history
from tests.faults.history import COME_UP_SECONDS, Outcome
from tests.faults.script import PROGRAMS, Script
from tests.faults.served_world import ServedWorld

HISTORIES_PER_START = 5


def outcomes(
    scripts: Sequence[Script], sort: str, processes: int = 1, together: int = HISTORIES_PER_START
) -> Generator[Outcome, None, None]:
    """The outcome of each script, in no particular order, on so many sets of servers at a time, each of which serves
    ``together`` histories."""
    parts = [scripts[start : start + together] for start in range(0, len(scripts), together)]
    with ProcessPoolExecutor(processes, initializer=_deaf) as pool:
        try:
            for done in as_completed([pool.submit(_part, part, sort) for part in parts]):
                yield from done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _deaf() -> None:
    """An interrupt of the terminal reaches every process: the first one tells the others when to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)


def _part(scripts: Iterable[Script], sort: str) -> list[Outcome]:
    async def collect() -> list[Outcome]:
        async with aclosing(play(scripts, sort)) as played:
            return [outcome async for outcome in played]

    return asyncio.run(collect())


async def play(scripts: Iterable[Script], sort: str) -> AsyncIterator[Outcome]:
    """The outcomes one by one; the servers are cleaned in between."""
    with tempfile.TemporaryDirectory() as folder:
        world: ServedWorld | None = None
        try:
            for told in scripts:
                if world is None:
                    world = ServedWorld(told.calm, Path(folder), sort)
                    await world.open()
                await world.prepare(told.calm)
                for program in PROGRAMS:
                    world.start(program)
                await asyncio.sleep(COME_UP_SECONDS)
                yield await history.told(told, world)
        finally:
            if world is not None:
                await world.close()

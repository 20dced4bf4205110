"""How far a benchmark of many minutes is: a bar for each phase on a terminal, elsewhere a line now and then."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

LOOK_SECONDS = 0.5
LINE_SECONDS = 15.0

Say = Callable[[str], None]


class LoadProgress:
    """Use it as a context: bars are drawn while it is open."""

    def __init__(self, console: Console, say: Say) -> None:
        self._say = say
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._drawn = console.is_terminal

    def __enter__(self) -> "LoadProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    @contextlib.asynccontextmanager
    async def following(self, what: str, total: int, done: Callable[[], int]) -> AsyncIterator[None]:
        """Shows ``done()`` of ``total`` until the end of the context."""
        bar = self._bars.add_task(what, total=total)
        looking = asyncio.create_task(self._look(what, total, done, lambda: self._bars.update(bar, completed=done())))
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            self._bars.update(bar, completed=done())
            self._bars.stop_task(bar)

    async def _look(self, what: str, total: int, done: Callable[[], int], draw: Callable[[], None]) -> None:
        told_at, told = time.monotonic(), 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            draw()
            if not self._drawn and done() != told and time.monotonic() - told_at >= LINE_SECONDS:
                told_at, told = time.monotonic(), done()
                self._say(f"{what}: {told} of {total}")

"""An event loop whose time jumps to what is due next: hours pass in moments, and every run of a seed is the same."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


TURNS_AT_ONE_MOMENT = 20_000


class Stuck(Exception):
    """Everybody waits, and nothing is due ever."""


class _Jump(selectors.DefaultSelector):  # type: ignore[misc,valid-type]  # its base depends on the platform
    """Waits for nothing: moves the loop's time on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("no timer is set and nothing is ready")
        if timeout > 0:
            self.now += timeout
            self.turns = 0
        self.turns += 1
        if self.turns % 100 == 0:
            self.now += 1e-6  # a real clock moves on, also for who waits less than a float can tell
        if self.turns > TURNS_AT_ONE_MOMENT:
            raise Stuck(f"time stands still at {self.now:.3f}: somebody goes round and round")
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time starts at 0. Real I/O and threads are not seen: what runs here must do without."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._jump.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` on a loop of its own; whatever it left running is cancelled."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)

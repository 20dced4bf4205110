"""An event loop whose time jumps to what is due next: hours pass in moments, and every run of a seed is the same."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

T = TypeVar("T")


TURNS_AT_ONE_MOMENT = 20_000
RESOLUTION = 1e-6
"""Seconds: what is due within so little of now is due now."""
CANCELLED_KEPT = 100
"""Timers that were cancelled, as most of them are, go in passing, or together where they are many."""


class Stuck(Exception):
    """Everybody waits, and nothing is due ever."""


class _Handle(asyncio.Handle):
    """As its base, which asks the loop each time whether it is being debugged."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: "VirtualLoop", context: Context | None
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class _Timer(asyncio.TimerHandle):
    """Likewise."""

    __slots__ = ()
    _loop: "VirtualLoop"
    _scheduled: bool

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: "VirtualLoop",
        context: Context | None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback: Callable[..., object] | None = callback
        self._args: tuple[Any, ...] | None = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self._when = when
        self._scheduled = True

    def cancel(self) -> None:
        if not self._cancelled:
            self._loop._timer_handle_cancelled(self)
            self._cancelled = True
            self._callback = self._args = None


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time starts at 0. Real I/O and threads are not seen: what runs here must do without.

    What a real loop does at each turn for sockets and slow callbacks is half of what it costs where a turn runs one or
    two callbacks, so turns, ready callbacks and timers are its own. Timers of one instant come in the order of their
    making.
    """

    _ready: Any
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self.moment = 0.0
        self._turns = 0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._made = 0
        self._cancelled = 0

    def time(self) -> float:
        return self.moment

    def get_debug(self) -> bool:
        return False

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.moment + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        self._made += 1
        heappush(self._timers, (when, self._made, timer))
        return timer

    def _timer_handle_cancelled(self, handle: _Timer) -> None:
        self._cancelled += handle._scheduled

    def _run_once(self) -> None:
        ready = self._ready
        if not ready and not self._stopping:
            self._jump()
        self._turns += 1
        if self._turns % 100 == 0:
            self.moment += RESOLUTION  # a real clock moves on, also for who waits less than a float can tell
        if self._turns > TURNS_AT_ONE_MOMENT:
            raise Stuck(f"time stands still at {self.moment:.3f}: somebody goes round and round")
        self._take_due()
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            try:
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                told = {"message": "a callback failed", "exception": error, "handle": handle}
                self.call_exception_handler(told)

    def _take_due(self) -> None:
        timers, due = self._timers, self.moment + RESOLUTION
        while timers and timers[0][0] < due:
            timer = heappop(timers)[2]
            timer._scheduled = False
            if timer._cancelled:
                self._cancelled -= 1
            else:
                self._ready.append(timer)

    def _jump(self) -> None:
        """To the first timer that is still wanted."""
        timers = self._timers
        if self._cancelled > max(CANCELLED_KEPT, len(timers) // 2):
            timers[:] = [each for each in timers if not each[2]._cancelled]
            heapify(timers)
            self._cancelled = 0
        while timers and timers[0][2]._cancelled:
            heappop(timers)
            self._cancelled -= 1
        if not timers:
            raise Stuck("no timer is set and nothing is ready")
        if timers[0][0] > self.moment:
            self.moment = timers[0][0]
            self._turns = 0


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` on a loop of its own; whatever it left running is cancelled."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)

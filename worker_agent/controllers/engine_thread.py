"""Where the engine runs: a thread of its own, or a task on the loop where time is virtual. One owner of ClusterState.

Callers only ``post`` messages, ``ask`` questions and read ``view``. The loop stays free: with a switch interval of
0.5 ms (``cli.process`` sets it) a long cycle costs a request beside it milliseconds, not the length of the cycle.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Protocol

from worker_agent.controllers.engine_messages import Ask, Message, is_urgent
from worker_agent.controllers.engine_work import EngineWork, Pacing
from worker_agent.engine.plan import Plan
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState
from worker_agent.engine.view import EngineView
from worker_agent.kube.clock import Clock

PlanHandler = Callable[[Plan, float], None]
ViewHandler = Callable[[EngineView], None]


REST_SECONDS: Final = 0.05
"""How long a message that lets nobody in waits for another at most: to wake the thread costs as much as a small
cycle, and a job's pod is told of three times before it runs."""


class Engine(Protocol):
    """What callers see. Handlers are called in the event loop; ``view`` is replaced as a whole after each cycle."""

    @property
    def view(self) -> EngineView: ...

    def add_view_handler(self, handler: ViewHandler) -> None: ...

    def post(self, message: Message) -> None: ...

    async def ask(self, question: Callable[[Any, Any, datetime], Any]) -> Any: ...

    async def run(self) -> None: ...


class _Base:
    def __init__(
        self, state: ClusterState, policy: Policy, clock: Clock, *, on_plan: PlanHandler, pacing: Pacing | None = None
    ) -> None:
        self._inbox: deque[Message] = deque()
        self._view = EngineView()
        self._on_plan = on_plan
        self._view_handlers: list[ViewHandler] = []
        self._view_announced = False
        self.work = EngineWork(state, policy, clock, pacing=pacing, on_plan=self._plan_made, on_view=self._view_made)

    @property
    def view(self) -> EngineView:
        return self._view

    def add_view_handler(self, handler: ViewHandler) -> None:
        """``handler(view)`` in the event loop when there is a new view; of several in a row the last is told."""
        self._view_handlers.append(handler)

    def post(self, message: Message) -> None:
        """In the event loop. Messages are taken in the order they came in, all of them before the next cycle."""
        self._inbox.append(message)
        if is_urgent(message):
            self._wake()
        else:
            self._wake_soon()

    async def ask(self, question: Callable[[Any, Any, datetime], Any]) -> Any:
        """The answer to ``question(state, policy, now)``, asked between two cycles. It must not change the state."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if answered.done():
                return
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(result)

        self.post(Ask(question, lambda result, error: self._in_loop(loop, lambda: settle(result, error))))
        return await answered

    def _wake(self) -> None:
        raise TypeError(f"{type(self).__name__} does not say how it is woken")

    def _wake_soon(self) -> None:
        """For messages after which there is nothing to decide."""
        self._wake()

    def _in_loop(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        raise TypeError(f"{type(self).__name__} does not say how the loop is reached")

    def _plan_made(self, plan: Plan, seconds: float) -> None:
        raise TypeError(f"{type(self).__name__} does not say where plans go")

    def _view_made(self, view: EngineView) -> None:
        raise TypeError(f"{type(self).__name__} does not say where views go")

    def _tell_view(self) -> None:
        self._view_announced = False
        for handler in self._view_handlers:
            handler(self._view)


class EngineThread(_Base):
    """The engine in a thread. ``run`` starts it and ends when cancelled, after the cycle under way."""

    def __init__(
        self, state: ClusterState, policy: Policy, clock: Clock, *, on_plan: PlanHandler, pacing: Pacing | None = None
    ) -> None:
        super().__init__(state, policy, clock, on_plan=on_plan, pacing=pacing)
        self._bell = threading.Condition()
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._failure: BaseException | None = None
        self._rest: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        thread = threading.Thread(target=self._work_on, name="engine", daemon=True)
        thread.start()
        try:
            await self._ended.wait()
            if self._failure is not None:
                raise self._failure
        finally:
            self._stopping = True
            self._wake()
            await asyncio.to_thread(thread.join)

    def _work_on(self) -> None:
        try:
            while not self._stopping:
                wait = self.work.step(self._inbox)
                with self._bell:
                    if not self._inbox and not self._stopping and wait != 0.0:
                        self._bell.wait(wait)
        except BaseException as error:
            self._failure = error
        finally:
            self._call_loop(self._ended_in_loop)

    def _ended_in_loop(self) -> None:
        if self._ended is not None:
            self._ended.set()

    def _wake(self) -> None:
        with self._bell:
            self._bell.notify()

    def _wake_soon(self) -> None:
        if self._loop is None:
            self._wake()
        elif self._rest is None:
            self._rest = self._loop.call_later(REST_SECONDS, self._rested)

    def _rested(self) -> None:
        self._rest = None
        if self._inbox:
            self._wake()

    def _in_loop(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._call_loop(call)

    def _call_loop(self, call: Callable[[], object]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(call)

    def _plan_made(self, plan: Plan, seconds: float) -> None:
        self._call_loop(lambda: self._on_plan(plan, seconds))

    def _view_made(self, view: EngineView) -> None:
        if view is self._view:
            return
        self._view = view
        if not self._view_announced:
            self._view_announced = True
            self._call_loop(self._tell_view)


class EngineTask(_Base):
    """The engine as a task of the event loop: for virtual time and for tests."""

    def __init__(
        self, state: ClusterState, policy: Policy, clock: Clock, *, on_plan: PlanHandler, pacing: Pacing | None = None
    ) -> None:
        super().__init__(state, policy, clock, on_plan=on_plan, pacing=pacing)
        self._bell = asyncio.Event()

    async def run(self) -> None:
        while True:
            self._bell.clear()
            wait = self.work.step(self._inbox)
            if self._inbox or wait == 0.0:
                await asyncio.sleep(0)
                continue
            alarm = None if wait is None else asyncio.get_running_loop().call_later(wait, self._bell.set)
            try:
                await self._bell.wait()
            finally:
                if alarm is not None:
                    alarm.cancel()

    def step(self) -> float | None:
        """One step, for tests that drive the engine themselves."""
        return self.work.step(self._inbox)

    def _wake(self) -> None:
        self._bell.set()

    def _in_loop(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        call()

    def _plan_made(self, plan: Plan, seconds: float) -> None:
        self._on_plan(plan, seconds)

    def _view_made(self, view: EngineView) -> None:
        if view is self._view:
            return
        self._view = view
        if not self._view_announced:
            self._view_announced = True
            asyncio.get_running_loop().call_soon(self._tell_view)

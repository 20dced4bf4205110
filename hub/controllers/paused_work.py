"""Workloads whose quota was given back as no cluster could run them: their pause ends as soon as one can."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from hub.controllers.dispatch_turn import Turn, TurnMaker
from hub.controllers.hub_applier import Failure, HubApplier
from hub.engine import dispatch, sync_refusal
from hub.engine.evaluation import Evaluation, Request
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.kube.clock import Clock
from worker_agent.kube.informer import Event

log = logging.getLogger(__name__)

PACE_SECONDS: Final = 1.0
"""Between two looks, while something changes on the workers all the time."""

Check = Callable[[Sequence[Turn]], Awaitable[list[Turn]]]
Judge = Callable[[Sequence[Request]], Awaitable[list[list[Evaluation]]]]


class PausedWork:
    """``note`` hears of every Workload of the manager, ``news`` that a cluster may be possible now that was not.

    ``check`` closes the clusters that lack something, ``judge`` evaluates the others.
    """

    def __init__(self, turns: TurnMaker, check: Check, judge: Judge, applier: HubApplier, clock: Clock) -> None:
        self._turns = turns
        self._check = check
        self._judge = judge
        self._applier = applier
        self._clock = clock
        self._paused: set[Key] = set()
        self._news = asyncio.Event()

    def note(self, event: Event[Workload]) -> None:
        if event.new is None or not sync_refusal.is_paused(event.new):
            self._paused.discard(event.key)
        elif event.key not in self._paused:
            self._paused.add(event.key)
            self.news()

    def news(self) -> None:
        if self._paused:
            self._news.set()

    async def run(self) -> None:
        """Look whenever there is news, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._look()
            except Exception:
                # One workload that cannot be evaluated must not end this for all others; its pause ends by itself.
                log.exception("paused workloads could not be looked at")
            await self._clock.sleep(PACE_SECONDS)

    async def _look(self) -> None:
        found = [turn for key in sorted(self._paused) if (turn := self._turns.paused(key)) is not None]
        if not found:
            return
        turns = await self._check(found)
        answers = await self._judge([turn.request for turn in turns])
        for turn, answer in zip(turns, answers, strict=True):
            candidates = replace(turn.candidates(answer), nominated=())
            decision = dispatch.decide(candidates, turn.policy, self._clock.now(), timedelta())
            if decision.reason != dispatch.NO_CLUSTER:
                await self._end(turn, decision.message)

    async def _end(self, turn: Turn, why: str) -> None:
        log.info("workload %s: its pause is over: %s", turn.key, why)
        try:
            await self._applier.apply([sync_refusal.end_of_pause(turn.sight)])
        except Failure as error:
            log.warning("workload %s: its pause goes on: %s", turn.key, error)

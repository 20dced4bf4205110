"""Begins inline and moves to Ray when that pays: decided by what rounds were measured to cost.

Ray costs seconds and hundreds of megabytes to start, and a few milliseconds per round; it divides the work by its
actors. So it is started, in the background, only after inline rounds were over their budget several times and Ray would
have been faster by its cost model.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hub.engine import work_order
from hub.engine.evaluation import Evaluation, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.evaluation.evaluator import Evaluator
from hub.evaluation.inline import InlineEvaluator
from hub.evaluation.ray_pool import RayPool
from hub.evaluation.replay import Assumptions
from worker_agent.api.meta import Key
from worker_agent.kube.clock import Clock

log = logging.getLogger(__name__)

ROUNDS_OVER_BUDGET: Final = 3
"""So many rounds in a row must have taken too long: one slow round proves nothing."""

ROUND_SECONDS: Final = 1.0
"""Questions that begin within so long are one round: inline is asked about one workload at a time, and a queue of a
hundred is a hundred short answers."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds. ``round_trip`` is one batch to one actor and back, ``budget`` what an inline round may take."""

    budget: float = 0.5
    round_trip: float = 0.01
    actors: int = 2

    def pays(self, inline_seconds: float) -> bool:
        """Whether actors would have answered a round sooner that took so long inline."""
        return inline_seconds > self.budget and inline_seconds / self.actors + self.round_trip < inline_seconds


@dataclass(slots=True)
class _Round:
    """Inline answers that began soon after each other, and the seconds they took."""

    began: float
    seconds: float = 0.0
    too_long: bool = False


class AutoEvaluator:
    """Answers inline until the pool is up; then inline ends. Both decide alike, so it shows in nothing but speed."""

    def __init__(
        self,
        inline: InlineEvaluator,
        pool: Callable[[Assumptions], RayPool],
        clock: Clock,
        model: CostModel | None = None,
    ) -> None:
        self._inline = inline
        self._make_pool = pool
        self._clock = clock
        self._model = model or CostModel()
        self._assumed = Assumptions(clock)
        self._over = 0
        self._round = _Round(float("-inf"))
        self._pool: RayPool | None = None
        self._starting: asyncio.Task[None] | None = None

    @property
    def batch_size(self) -> int:
        return self._current.batch_size

    @property
    def on_ray(self) -> bool:
        return self._pool is not None and self._pool.started

    @property
    def moving(self) -> bool:
        """A move to Ray was begun."""
        return self._starting is not None

    def observe(self, event: KnowledgeEvent) -> None:
        self._assumed.note(work_order.Observe(event))
        self._current.observe(event)

    def assume(self, cluster: str, request: Request, admission: bytes) -> None:
        order = work_order.Assume(cluster, request.namespace, request.name, request.workload, admission)
        self._assumed.note(order)
        self._current.assume(cluster, request, admission)

    def release(self, cluster: str, key: Key) -> None:
        self._assumed.note(work_order.Release(cluster, key.namespace, key.name))
        self._current.release(cluster, key)

    async def evaluate(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        began = self._clock.monotonic()
        answers = await self._current.evaluate(requests)
        if self._current is self._inline:
            self._weigh(began, self._clock.monotonic() - began)
        return answers

    async def settled(self) -> None:
        """Return when no move to Ray is under way."""
        if self._starting is not None:
            await self._starting

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        if self._pool is not None:
            await self._pool.close()
        await self._inline.close()

    @property
    def _current(self) -> Evaluator:
        pool = self._pool
        return pool if pool is not None and pool.started else self._inline

    def _weigh(self, began: float, seconds: float) -> None:
        if began - self._round.began >= ROUND_SECONDS or self._round.seconds >= ROUND_SECONDS:
            if not self._round.too_long:
                self._over = 0
            self._round = _Round(began)
        self._round.seconds += seconds
        if not self._round.too_long and self._model.pays(self._round.seconds):
            self._round.too_long = True
            self._over += 1
        if self._over >= ROUNDS_OVER_BUDGET and self._starting is None:
            log.info("inline rounds take %.2f s, starting Ray beside them", self._round.seconds)
            self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        pool = self._make_pool(self._assumed)
        try:
            await pool.start()
        except Exception:
            # Inline goes on; another attempt would fail for the same reason.
            log.exception("Ray could not be started, evaluation stays inline")
            return
        # The pool was told everything when it started; from this turn of the loop on it alone is told and asked.
        self._pool = pool
        await self._inline.close()
        log.info("evaluation runs on Ray now")

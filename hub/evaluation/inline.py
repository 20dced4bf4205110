"""Evaluation in this process, in a thread of its own so that the event loop stays free. The default, and the measure
for every other way."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import datetime

from hub.engine import work_order
from hub.engine.evaluation import Evaluation, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.work_order import Desk, Order
from worker_agent.api.meta import Key
from worker_agent.engine.policy import Policy
from worker_agent.kube.clock import Clock


class InlineEvaluator:
    """One thread owns all views. ``threaded=False`` answers in the event loop itself: for virtual time and tests."""

    batch_size = 1

    def __init__(self, policy: Policy, clock: Clock, *, threaded: bool = True) -> None:
        self._desk = Desk(policy)
        self._clock = clock
        self._orders: list[Order] = []
        self._executor: Executor | None = None
        if threaded:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="evaluation")

    def observe(self, event: KnowledgeEvent) -> None:
        self._orders.append(work_order.Observe(event))

    def assume(self, cluster: str, request: Request, admission: bytes) -> None:
        self._orders.append(work_order.Assume(cluster, request.namespace, request.name, request.workload, admission))

    def release(self, cluster: str, key: Key) -> None:
        self._orders.append(work_order.Release(cluster, key.namespace, key.name))

    async def evaluate(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        orders, self._orders = self._orders, []
        now = self._clock.now()
        if self._executor is None:
            return self._work(orders, requests, now)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._work, orders, requests, now)

    async def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _work(self, orders: Sequence[Order], requests: Sequence[Request], now: datetime) -> list[list[Evaluation]]:
        self._desk.carry_out(orders, now)
        return self._desk.answer(requests, now)

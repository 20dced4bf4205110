"""The seam between dispatch and whoever works out how workloads stand with clusters."""

from collections.abc import Sequence
from typing import Protocol

from hub.engine.evaluation import Evaluation, Request
from hub.engine.knowledge_event import KnowledgeEvent
from worker_agent.api.meta import Key


class Evaluator(Protocol):
    """Keeps a view of every cluster from the events it is given, and answers for batches of requests.

    ``observe``, ``assume`` and ``release`` return at once; what is asked later is answered with all of them taken into
    account, in their order. Answers do not depend on how the work is spread.
    """

    @property
    def batch_size(self) -> int:
        """How many requests one call should bring: more save round trips, fewer save what assumed room makes stale."""
        ...

    def observe(self, event: KnowledgeEvent) -> None: ...

    def assume(self, cluster: str, request: Request, admission: bytes) -> None:
        """Count the room as taken until the worker's own object shows it; ``admission`` as the evaluation gave it."""
        ...

    def release(self, cluster: str, key: Key) -> None:
        """The worker did not take it after all."""
        ...

    async def evaluate(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        """For each request one evaluation per cluster it names, in that order."""
        ...

    async def close(self) -> None: ...

"""Telling somebody new all that is known: actors that start late, or anew."""

from collections.abc import Callable, Iterator
from typing import Final

from hub.engine import work_order
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.work_order import Order
from worker_agent.kube.clock import Clock

Replay = Callable[[Callable[[KnowledgeEvent], None]], None]
"""Calls its argument with an event for every object that is known of every worker, at once."""

LONGEST_ASSUMPTION: Final = 600.0
"""Seconds after which the worker's own objects certainly show what was assumed."""


class Assumptions:
    """Room assumed lately: the only thing an evaluator knows that no object shows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._assumed: dict[tuple[str, str, str], tuple[float, work_order.Assume]] = {}

    def note(self, order: Order) -> None:
        if isinstance(order, work_order.Assume):
            place = (order.cluster, order.namespace, order.name)
            self._assumed.pop(place, None)
            self._assumed[place] = (self._clock.monotonic(), order)
            self._prune()
        elif isinstance(order, work_order.Release):
            self._assumed.pop((order.cluster, order.namespace, order.name), None)
        elif not order.event.plural:
            for place in [place for place in self._assumed if place[0] == order.event.cluster]:
                del self._assumed[place]

    def __iter__(self) -> Iterator[Order]:
        return iter([order for _, order in self._assumed.values()])

    def _prune(self) -> None:
        oldest = self._clock.monotonic() - LONGEST_ASSUMPTION
        while self._assumed and next(iter(self._assumed.values()))[0] < oldest:
            del self._assumed[next(iter(self._assumed))]

"""What an evaluator is told, in order: events, assumed room, and rounds of requests. One place does all of it, inline
and in an actor alike."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from hub.engine import judging
from hub.engine.evaluation import Evaluation, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.views import Views
from worker_agent.api.meta import Key
from worker_agent.engine.policy import Policy


class Assume(msgspec.Struct, frozen=True, array_like=True, tag=True):
    cluster: str
    namespace: str
    name: str
    workload: bytes
    admission: bytes


class Release(msgspec.Struct, frozen=True, array_like=True, tag=True):
    cluster: str
    namespace: str
    name: str


class Observe(msgspec.Struct, frozen=True, array_like=True, tag=True):
    event: KnowledgeEvent


Order = Assume | Release | Observe

ENCODING_VERSION = 1


class _Orders(msgspec.Struct, array_like=True):
    version: int
    orders: list[Order]


_decoder = msgspec.msgpack.Decoder(_Orders)


def encode(orders: Sequence[Order]) -> bytes:
    return msgspec.msgpack.encode(_Orders(ENCODING_VERSION, list(orders)))


def decode(batch: bytes) -> list[Order]:
    """Raises ValueError for a batch of another version of the program."""
    found = _decoder.decode(batch)
    if found.version != ENCODING_VERSION:
        raise ValueError(f"orders in encoding {found.version}, this program reads {ENCODING_VERSION}")
    return found.orders


class Desk:
    """Carries orders out on its views and answers requests about them."""

    def __init__(self, policy: Policy) -> None:
        self.views = Views(policy)
        self._policy = policy

    def carry_out(self, orders: Sequence[Order], now: datetime) -> None:
        """All of them, whatever becomes of one: nobody tells the others again. Raises the first failure at the end."""
        failures: list[Exception] = []
        for order in orders:
            try:
                self._carry_out(order, now)
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _carry_out(self, order: Order, now: datetime) -> None:
        if isinstance(order, Observe):
            self.views.apply((order.event,), now)
            return
        view = self.views.get(order.cluster)
        if view is None:
            return
        if isinstance(order, Assume):
            view.assume(order.workload, msgspec.json.decode(order.admission), now)
        else:
            view.release(Key(order.namespace, order.name), now)

    def answer(self, requests: Sequence[Request], now: datetime) -> list[list[Evaluation]]:
        return [judging.evaluate(request, self.views, self._policy, now) for request in requests]

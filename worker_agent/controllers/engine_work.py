"""The engine's own loop, one step at a time: take messages, wake parked Workloads, run a cycle, publish the view.

``EngineWork`` belongs to whoever calls ``step``: a thread (``engine_thread``), a task of the event loop on virtual
time, or a test. It is the only code that touches ClusterState.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from worker_agent.api import resource_type as kinds
from worker_agent.api import timestamps
from worker_agent.api.resource_type import ResourceType
from worker_agent.controllers.engine_messages import Ask, Lead, Message, Put, Remove
from worker_agent.controllers.recording import NO_RECORDER, Recorder
from worker_agent.engine import cycle
from worker_agent.engine.plan import Plan
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState
from worker_agent.engine.view import EngineView
from worker_agent.kube.clock import Clock

log = logging.getLogger(__name__)

FIRST_BACKOFF: Final = 0.001
LONGEST_BACKOFF: Final = 0.010
"""Seconds between cycles that admitted nothing: 1, 2, 4, 8, 10, 10 ... ms (spec/engine 1.2)."""

REQUEUE_BATCH: Final = 1.0
"""Seconds in which wake-ups of parked Workloads are gathered at most (spec/engine 5.9)."""

SHORTEST_BATCH: Final = 0.02
FLUSH_SHARE: Final = 0.05
"""Waking up what is parked may take this share of the engine's time: the cheaper it is, the sooner it happens."""

_NOUNS: Final[dict[ResourceType, str]] = {
    kinds.WORKLOADS: "workload",
    kinds.CLUSTER_QUEUES: "cluster_queue",
    kinds.COHORTS: "cohort",
    kinds.RESOURCE_FLAVORS: "resource_flavor",
    kinds.LOCAL_QUEUES: "local_queue",
    kinds.NAMESPACES: "namespace",
    kinds.ADMISSION_CHECKS: "admission_check",
    kinds.TOPOLOGIES: "topology",
    kinds.PRIORITY_CLASSES: "priority_class",
    kinds.LIMIT_RANGES: "limit_range",
    kinds.RUNTIME_CLASSES: "runtime_class",
    kinds.NODES: "node",
    kinds.PODS: "pod",
    kinds.RESOURCE_CLAIM_TEMPLATES: "resource_claim_template",
    kinds.DEVICE_CLASSES: "device_class",
    kinds.RESOURCE_SLICES: "resource_slice",
}
"""What ClusterState calls each kind in ``put_...`` and ``delete_...``."""

KINDS: Final = tuple(_NOUNS)
"""What the engine wants to know of."""


HAIR: Final = 1e-5
"""Seconds by which a moment may be missed: a sleep below a virtual clock's resolution would not move it."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """Seconds. Zero ``requeue_batch`` wakes parked Workloads at once (tests, replay)."""

    requeue_batch: float = REQUEUE_BATCH
    shortest_batch: float = SHORTEST_BATCH
    first_backoff: float = FIRST_BACKOFF
    longest_backoff: float = LONGEST_BACKOFF


class EngineWork:
    """Owns one ClusterState. ``on_plan`` and ``on_view`` are called from within ``step``."""

    def __init__(
        self,
        state: ClusterState,
        policy: Policy,
        clock: Clock,
        *,
        pacing: Pacing | None = None,
        on_plan: Callable[[Plan, float], None] = lambda plan, seconds: None,
        on_view: Callable[[EngineView], None] = lambda view: None,
    ) -> None:
        self.cycles = 0
        self.recorder: Recorder = NO_RECORDER
        """Told of everything that reaches the state, before it does."""
        self.leading = True
        """False: the state and the view follow what happens, and nothing is decided."""
        self._state = state
        self._policy = policy
        self._clock = clock
        self._pacing = pacing or Pacing()
        self._on_plan = on_plan
        self._on_view = on_view
        self._backoff = 0.0
        self._flush_at: float | None = None
        self._flush_seconds = 0.0
        self._cycles_since_flush = 0
        self._last_outcome: Any = None
        self._published = False
        self._sampled_until: float | None = None
        self._next_cycle: float | None = None
        """Monotonic instant before which a cycle would decide what the last one did; None: only news changes that."""

    def step(self, messages: deque[Message]) -> float | None:
        """Take all messages, then run at most one cycle. Returns the seconds to wait; None: until a message."""
        moment = self._clock.monotonic()
        taken = self._take(messages)
        if not self.leading:
            if taken or not self._published:
                self._publish()
            return None
        if self._flush_at is None and self._state.wakeups:
            self._flush_at = moment + self._batch()
        flushed = self._flush_at is not None and moment + HAIR >= self._flush_at
        if flushed:
            self._flush_at = None
            now = self._clock.now()
            self.recorder.flushed(now)
            self._state.flush_requeues(now)
            self._flush_seconds = self._clock.monotonic() - moment
            self._cycles_since_flush = 0
        if taken or flushed:
            self._backoff, self._last_outcome = 0.0, None
        sampled_until = self._state.sample_usage(self._clock.now())
        news = bool(taken) or flushed or not self._published or self._sampled(sampled_until)
        if news or self._second_pass() == 0.0:
            self._next_cycle = moment
        if self._next_cycle is not None and moment + HAIR >= self._next_cycle:
            wait = self._cycle(news)
            self._next_cycle = None if wait is None else self._clock.monotonic() + wait
        return self._earliest(self._next_cycle, sampled_until)

    def _second_pass(self) -> float | None:
        """Seconds until the state offers a workload again that has quota already."""
        return self._state.second_pass.wait(timestamps.micros(self._clock.now()))

    def _batch(self) -> float:
        """How long wake-ups are gathered: long enough that the last flush, repeated, stays within its share."""
        return min(self._pacing.requeue_batch, max(self._pacing.shortest_batch, self._flush_seconds / FLUSH_SHARE))

    def _take(self, messages: deque[Message]) -> int:
        count = 0
        while messages:
            message = messages.popleft()
            count += not isinstance(message, Ask)
            try:
                self._handle(message)
            except Exception:
                # One object that the state cannot take must not stop the queues of everybody else.
                log.exception("engine: %s could not be taken in", _describe(message))
        return count

    def _handle(self, message: Message) -> None:
        if isinstance(message, Ask):
            self._answer(message)
            return
        if isinstance(message, Lead):
            self._lead(message.leading)
            return
        now = self._clock.now()
        self.recorder.told(message, now)
        if isinstance(message, Put):
            self._put(message, now)
        elif isinstance(message, Remove):
            self._remove(message, now)
        else:
            self._state.forget(message.key, now)

    def _lead(self, leading: bool) -> None:
        """What the leader before us knew of usage stands in the status of the LocalQueues."""
        if leading and not self.leading and self._state.usage_book is not None:
            self._state.usage_book.read_again()
        self.leading = leading

    def _put(self, message: Put, now: datetime) -> None:
        if message.resource is kinds.WORKLOADS:
            self._state.put_workload(message.object, now)
        else:
            getattr(self._state, f"put_{_NOUNS[message.resource]}")(message.object)

    def _remove(self, message: Remove, now: datetime) -> None:
        if message.resource is kinds.WORKLOADS:
            self._state.delete_workload(message.key, now)
        else:
            name = message.key if message.resource.namespaced else message.key.name
            getattr(self._state, f"delete_{_NOUNS[message.resource]}")(name)

    def _answer(self, ask: Ask) -> None:
        try:
            result = ask.question(self._state, self._policy, self._clock.now())
        except Exception as error:
            ask.answer(None, error)
        else:
            ask.answer(result, None)

    def _cycle(self, news: bool) -> float | None:
        """One cycle when there is something to try; the pause after it, None to wait for a message.

        Without ``news`` and without heads the state is the one of the last view: readers that ask what they read
        anew whenever a view appears would otherwise keep each other awake. Nor is a cycle made before its time for
        their questions: a head that stays in its queue (StrictFIFO, or waiting for its victims) would be tried at
        once, published, and asked about for ever.
        """
        now = self._clock.now()
        heads = self._state.heads(now)
        if not heads:
            if news:
                self._publish()
            return None
        started = self._clock.monotonic()
        plan = cycle.run_cycle(self._state, heads, self._policy, now)
        seconds = self._clock.monotonic() - started
        if self._cycles_since_flush == 0:
            self._flush_seconds += seconds
        self._cycles_since_flush += 1
        self.cycles += 1
        self.recorder.decided(self._state, plan, now)
        self._on_plan(plan, seconds)
        self._publish()
        if plan.progressed:
            self._backoff, self._last_outcome = 0.0, None
            return 0.0
        return self._pause(plan)

    def _pause(self, plan: Plan) -> float | None:
        outcome = [(step.key, step.reason, step.message) for step in plan]
        if outcome == self._last_outcome and self._backoff >= self._pacing.longest_backoff:
            # The same input gives the same plan: nothing will change until somebody tells us something.
            return None
        self._last_outcome = outcome
        self._backoff = min(max(self._backoff * 2, self._pacing.first_backoff), self._pacing.longest_backoff)
        return self._backoff

    def _publish(self) -> None:
        self._published = True
        self._on_view(self._state.publish(self._clock.now()))

    def _sampled(self, until: float | None) -> bool:
        """Whether the usage of LocalQueues was brought up to date just now, so that there is something to publish."""
        before, self._sampled_until = self._sampled_until, until
        return until is not None and (before is None or until > before)

    def _earliest(self, next_cycle: float | None, sample: float | None) -> float | None:
        moment = self._clock.monotonic()
        instants = (max(0.0, instant - moment) for instant in (next_cycle, self._flush_at) if instant is not None)
        waits = (wait for wait in (sample, self._second_pass()) if wait is not None)
        return min((*instants, *waits), default=None)


def _describe(message: Message) -> str:
    if isinstance(message, Put):
        return f"{message.resource.kind} {message.object.metadata.key}"
    return str(message)

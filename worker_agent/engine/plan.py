"""Plan: what a cycle decided, as values. The shell writes it; nothing in the engine does.

Every step names its workload, a reason constant and a message a user can act on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.nomination import Entry, Outcome
from worker_agent.engine.requeue_reason import RequeueReason


@dataclass(frozen=True, slots=True)
class Admit:
    """Write ``admission`` and QuotaReserved=True; with ``admitted`` also Admitted=True (no check is outstanding).

    The state counts the quota already; if the write fails, call ``state.forget(key, now)``.
    """

    key: Key
    cluster_queue: str
    admission: Document
    admitted: bool
    reason: str
    message: str
    flavors_considered: str = ""
    """For the QuotaReserved event: flavors that were not a plain fit; may be empty."""
    replaces: Key | None = None
    """A slice of the same elastic job: once the admission is written, it is finished with ``replaced_message``."""
    replaced_message: str = ""
    second_pass: bool = False
    """The workload held quota before; its pods got the place that was lacking."""
    generation: int = field(default=0, compare=False)
    """Of the object the decision was made on; a newer spec wants a new decision. 0: not known."""
    uid: str = field(default="", compare=False)
    """Of that object: a namesake that came after it wants a decision of its own. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Preempt:
    """Evict ``key`` for ``preemptor``: Preempted=True with ``reason``, Evicted=True with reason Preempted."""

    key: Key
    preemptor: Key
    reason: str
    message: str
    cluster_queue: str
    priorities: str = ""
    """Of both workloads: ends the message of the event on the victim."""
    preemptor_story: str = ""
    """Message of the event on the preemptor."""
    uid: str = field(default="", compare=False)
    """The victim's: a namesake that came after it does not make way. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict ``key`` for a reason other than preemption: Evicted=True with ``reason``."""

    key: Key
    reason: str
    message: str
    cluster_queue: str
    uid: str = field(default="", compare=False)
    """As of a victim."""


class Requeue(NamedTuple):
    """The head went back to its queue. Write QuotaReserved=False with reason and message unless it says so already.

    An empty ``reason`` cannot be written: the old condition stays.
    """

    key: Key
    cluster_queue: str
    outcome: Outcome
    requeue_reason: RequeueReason
    reason: str
    message: str
    resource_requests: tuple[Document, ...] = ()
    """For ``status.resourceRequests``: one entry per pod set."""


@dataclass(frozen=True, slots=True)
class SecondPassFailed:
    """A workload that holds quota found no place for some of its pods; it keeps the quota and is tried again later."""

    key: Key
    cluster_queue: str
    message: str
    reason: str = "SecondPassFailed"


Step = Admit | Preempt | Evict | Requeue | SecondPassFailed


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one cycle, in the order in which they were decided."""

    cycle: int = 0
    steps: tuple[Step, ...] = ()
    attempts: tuple[Key, ...] = ()
    """Nominated heads in the order in which they were processed."""
    preemption_skips: dict[str, int] = field(default_factory=dict)
    """Per ClusterQueue, preemptors passed over because another entry had taken their victims or their room."""
    recomputations: dict[str, dict[str, int]] = field(default_factory=dict)
    """Per ClusterQueue, what came of nominating preemptors again whose victims had been taken: counts by result."""
    blocked: bool = False
    """An admission waits for PodsReady of others (waitForPodsReady.blockAdmission)."""
    entries: tuple[Entry, ...] = field(default=(), compare=False, repr=False)
    """All heads with what each tried, for whoever tells the story. Live rows: read in the engine's thread only."""

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def admissions(self) -> tuple[Admit, ...]:
        return tuple(step for step in self.steps if isinstance(step, Admit))

    @property
    def preemptions(self) -> tuple[Preempt, ...]:
        return tuple(step for step in self.steps if isinstance(step, Preempt))

    @property
    def requeues(self) -> tuple[Requeue, ...]:
        return tuple(step for step in self.steps if isinstance(step, Requeue))

    @property
    def progressed(self) -> bool:
        """Something was admitted or evicted: the next cycle should follow at once."""
        return any(not isinstance(step, Requeue | SecondPassFailed) for step in self.steps)

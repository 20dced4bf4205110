"""Why a head goes back to its queue: it decides between the active queue and the parking lot (spec/engine 5.4)."""

from enum import StrEnum
from typing import Final


class RequeueReason(StrEnum):
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    GENERIC = ""
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"
    PENDING_MIGRATION = "PendingMigration"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    PREEMPTION_NO_CANDIDATES = "PreemptionNoCandidates"


IMMEDIATE: Final = frozenset(
    {
        RequeueReason.FAILED_AFTER_NOMINATION,
        RequeueReason.PENDING_PREEMPTION,
        RequeueReason.PENDING_MIGRATION,
        RequeueReason.PREEMPTION_FAILED,
    }
)
"""Back to the active queue at once, in a BestEffortFIFO queue; a StrictFIFO one parks only for a namespace mismatch."""

STICKY: Final = frozenset({RequeueReason.PENDING_PREEMPTION, RequeueReason.PENDING_MIGRATION})
"""The workload's victims are on their way out: it keeps the top of its queue."""

PARKS_ALIKE: Final = frozenset({RequeueReason.NO_FIT, RequeueReason.PREEMPTION_NO_CANDIDATES})
"""Every workload with an equal scheduling hash would fail the same way."""

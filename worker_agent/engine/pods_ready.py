"""waitForPodsReady: how long an admitted Workload may wait for its pods, and the back-off after it did not get them.

Source: spec/engine 15.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from worker_agent.api.document import Document
from worker_agent.engine import workload_status

WAIT_FOR_START = "WaitForStart"
WAIT_FOR_RECOVERY = "WaitForRecovery"


@dataclass(frozen=True, slots=True)
class PodsReadyRules:
    """Configuration stanza waitForPodsReady. Durations in seconds; no recovery timeout: recovery is not checked."""

    timeout: float = 1800.0
    recovery_timeout: float | None = 1800.0
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600
    backoff_jitter: float = 0.0001

    def backoff(self, count: int, jitter: float) -> timedelta:
        """Wait before the ``count``-th requeue (from 1); ``jitter`` in [0, 1). The first has no cap, as in Kueue."""
        base = float(self.backoff_base_seconds)
        wait = base if count <= 1 else min(base * 2.0 ** min(count - 1, 64), float(self.backoff_max_seconds))
        return timedelta(seconds=wait + wait * self.backoff_jitter * jitter)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The PodsReady condition as it shall be."""

    ready: bool
    reason: str
    message: str


def readiness(workload: Document, *, admitted: bool, pods_ready: bool) -> Readiness:
    """What PodsReady says, from the job's pods and the condition's own past (spec/engine 15.1)."""
    previous = workload_status.reason_of(workload, "PodsReady")
    if admitted and pods_ready:
        reason = "Recovered" if previous in (WAIT_FOR_RECOVERY, "Recovered") else "Started"
        return Readiness(True, reason, "All pods reached readiness and the workload is running")
    if admitted and (workload_status.is_true(workload, "PodsReady") or previous == WAIT_FOR_RECOVERY):
        return Readiness(False, WAIT_FOR_RECOVERY, "At least one pod has failed, waiting for recovery")
    return Readiness(False, WAIT_FOR_START, "Not all pods are ready or succeeded")


@dataclass(frozen=True, slots=True)
class Deadline:
    """When patience ends, and with which cause."""

    at: datetime
    cause: str


def deadline(workload: Document, rules: PodsReadyRules) -> Deadline | None:
    """The end of an admitted Workload's wait for its pods; None when it does not wait (spec/engine 15.2)."""
    if workload_status.is_true(workload, "PodsReady"):
        return None
    reason = workload_status.reason_of(workload, "PodsReady")
    if reason in ("", WAIT_FOR_START, "PodsReady"):
        admitted = workload_status.since(workload, "Admitted")
        return Deadline(admitted + timedelta(seconds=rules.timeout), WAIT_FOR_START)
    if reason == WAIT_FOR_RECOVERY and rules.recovery_timeout:
        lost = workload_status.since(workload, "PodsReady")
        return Deadline(lost + timedelta(seconds=rules.recovery_timeout), WAIT_FOR_RECOVERY)
    return None

"""The hub's side of the fence: its times, the marks on what it sends, and whether a cluster may still run a job."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from hub.engine import remote_objects
from hub.engine.remote_group import Remote, RemoteGroup
from worker_agent.api import names
from worker_agent.api.document import Document

LONGEST_LEASE: Final = timedelta(seconds=40)
SHORTEST_LEASE: Final = timedelta(seconds=3)
RENEWALS_PER_LEASE: Final = 4
_LONGEST_STOPPING: Final = timedelta(minutes=5)
_LONGEST_POLL: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class FenceTiming:
    """``lease``: without a renewal for so long, an agent stops the hub's work. ``stopping``: what a job takes to stop,
    its pods' grace period included. ``poll``: how often an agent reads the lease."""

    lease: timedelta = LONGEST_LEASE
    stopping: timedelta = _LONGEST_STOPPING
    poll: timedelta = _LONGEST_POLL

    @classmethod
    def derived(
        cls, worker_lost_timeout: timedelta, lease: timedelta | None = None, stopping: timedelta | None = None
    ) -> Self:
        """The times that were not given, such that all together stay below ``worker_lost_timeout`` where that is long
        enough for a lease at all."""
        return cls(
            lease=lease or max(SHORTEST_LEASE, min(LONGEST_LEASE, worker_lost_timeout / 4)),
            stopping=stopping or min(_LONGEST_STOPPING, worker_lost_timeout / 3),
            poll=min(_LONGEST_POLL, max(timedelta(seconds=1), worker_lost_timeout / 10)),
        )

    @property
    def lease_seconds(self) -> int:
        """As a Lease can say it."""
        return max(1, round(self.lease.total_seconds()))

    @property
    def renewal(self) -> float:
        """Seconds between two renewals."""
        return self.lease.total_seconds() / RENEWALS_PER_LEASE

    def too_long_for(self, worker_lost_timeout: timedelta) -> str:
        """Why a job might be started elsewhere before it has stopped; empty when it cannot be."""
        together = self.lease + self.stopping + self.poll
        if together < worker_lost_timeout:
            return ""
        return (
            f"federation.fencing: leaseDuration {_text(self.lease)} + stoppingTime {_text(self.stopping)} + one poll "
            f"of {_text(self.poll)} must be less than multiKueue.workerLostTimeout {_text(worker_lost_timeout)}: "
            "raise the latter, or lower leaseDuration or stoppingTime"
        )


def stamped(document: Document, group: RemoteGroup, cluster: str) -> Document:
    """``document`` as it is sent to the cluster in the hub's term there; unchanged where that knows no terms."""
    term = group.terms.get(cluster, 0)
    if not term:
        return document
    metadata = document["metadata"]
    marks = {names.DISPATCH_TERM_ANNOTATION: str(term)}
    if not group.policy.keep_when_lost:
        marks[names.ON_CONTACT_LOST_ANNOTATION] = names.STOP_ON_CONTACT_LOST
        marks[names.LEASE_SECONDS_ANNOTATION] = str(group.policy.lease_seconds)
    annotations = {**(metadata.get("annotations") or {}), **marks}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def may_still_run(group: RemoteGroup, now: datetime) -> bool:
    """Whether the Workload's cluster may run its job now or later, as far as the hub knows.

    Until this is False the manager's quota is not free, and no other cluster may get the job.
    """
    name = group.cluster_name
    if not name or group.local.is_true(names.FINISHED):
        return False
    if name in group.unavailable:
        return not given_up(group, name, now)
    remote = group.connected.get(name) or group.outside.get(name)
    kind = group.owner.kind
    if remote is None or kind is None:
        return False
    if is_running(group, remote):
        return True
    # A job that waits there, or is still on its way, may start as long as its copy is admitted.
    copy = remote.copy
    over = copy is not None and (copy.is_true(names.EVICTED) or copy.is_true(names.FINISHED))
    return copy is not None and copy.is_true(names.ADMITTED) and not over


def is_running(group: RemoteGroup, remote: Remote) -> bool:
    """Whether the job there is our own, and runs or has been started."""
    kind, job = group.owner.kind, remote.job
    if kind is None or job is None or not remote_objects.is_ours(job, group.policy.origin):
        return False
    return kind.finished(job) is None and (kind.is_active(job) or not kind.is_suspended(job))


def given_up(group: RemoteGroup, cluster: str, now: datetime) -> bool:
    """Whether nothing is waited for any more on a cluster out of contact: its agent has stopped all by now, or its
    administrator says so."""
    if cluster in group.declared_lost:
        return True
    if group.policy.keep_when_lost:
        return False
    return now - (group.unavailable[cluster] or now) >= group.policy.worker_lost_timeout


def _text(duration: timedelta) -> str:
    return f"{duration.total_seconds():g}s"

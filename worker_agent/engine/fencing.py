"""What an agent may start and must stop of a hub's work, by the lease which that hub holds in this cluster.

A hub leader has a term, a number higher than that of every leader before it. It writes its term into the Lease before
it sends anything, and stamps what it sends: a job of another term comes from a leader that is one no longer. No wall
clocks are compared: a lease has lapsed when the agent has seen no renewal for its duration, on its monotonic clock.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import reservation, workload_status
from worker_agent.engine.intents import ADMISSION_MANAGER, ApplyStatus, SetCondition

DEFAULT_POLL_SECONDS: Final = 5.0
DEFAULT_LEASE_SECONDS: Final = 40.0
"""Of a lease that nobody here has seen, where what was sent under it says nothing either."""
_LEASE_PREFIX: Final = "fedhub-hub-"
_HASH_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class HubLease:
    """A hub's lease as read last. ``seen_at`` is when its newest renewal was seen, ``duration`` and ``poll`` are
    seconds. ``record`` is all that a renewal changes, ``acknowledged`` the term an agent has confirmed."""

    origin: str
    term: int
    duration: float
    seen_at: float
    record: tuple[str, str, int] = ("", "", 0)
    acknowledged: int = 0
    poll: float = DEFAULT_POLL_SECONDS

    def lapsed(self, instant: float) -> bool:
        """Whether the hub must be taken for out of contact at ``instant`` (monotonic seconds)."""
        return instant >= self.lapses_at

    @property
    def lapses_at(self) -> float:
        return self.seen_at + self.duration

    def after(self, earlier: "HubLease | None") -> Self:
        """This reading, counted from the earlier one where it shows no renewal since."""
        if earlier is not None and earlier.record == self.record:
            return replace(self, seen_at=min(self.seen_at, earlier.seen_at))
        return self


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a hub's lease last, by a request sent at ``asked_at``; ``lease`` is None where there is none."""

    asked_at: float
    lease: HubLease | None


def read_by(since: float, asked_at: float | None, known: HubLease, shown: HubLease | None) -> float:
    """The instant by which a hub's lease has to be read, where there is something to stop ``since`` then.

    That is within one poll, and when what is ``known`` of the lease lapses. A reading, asked for at ``asked_at`` last,
    counts whatever it was made for. Before the first one it must be known that the hub was in contact, by the lease
    that a watch has ``shown``.
    """
    if asked_at is None or asked_at < since:
        return min(since + shown.poll, shown.lapses_at) if shown is not None else since
    return min(asked_at + known.poll, known.lapses_at)


def known_lease(since: float, found: Reading | None, shown: HubLease | None, copies: Sequence[Document]) -> HubLease:
    """By what the ``copies`` of a hub are stopped, of which there have been some ``since`` then.

    A lease that is gone, or cannot be read, is one that is not renewed: what was ``found`` last when it could be read
    counts on. Where nobody has read it since there is something to stop, a watch may have ``shown`` a later one; and
    where neither knows it, as with an agent that started after the lease was deleted, it counts afresh from ``since``
    and lasts as long as the copies say.
    """
    read = found.lease if found is not None else None
    if found is not None and read is not None and (found.asked_at >= since or shown is None):
        return read
    if shown is not None:
        return shown if read is None or shown.lapses_at >= read.lapses_at else read
    origin = origin_of(copies[0]) if copies else ""
    return HubLease(origin, 0, min(map(lease_seconds, copies), default=DEFAULT_LEASE_SECONDS), since)


def lease_name(origin: str) -> str:
    """The name of the Lease of the hub with this origin; origins that differ in case only get different names."""
    name = re.sub(r"[^a-z0-9.-]", "-", origin.lower())
    if name != origin:
        name = f"{name}-{hashlib.sha256(origin.encode()).hexdigest()[:_HASH_DIGITS]}"
    return _LEASE_PREFIX + name


def read(lease: Document, seen_at: float) -> HubLease:
    """The Lease document as an agent reads it at ``seen_at``."""
    spec = lease.get("spec") or {}
    annotations = value_at(lease, "metadata.annotations", {})
    term = int(spec.get("leaseTransitions") or 0)
    return HubLease(
        origin=value_at(lease, "metadata.labels", {}).get(names.HUB_LEASE_LABEL, ""),
        term=term,
        duration=float(spec.get("leaseDurationSeconds") or 0),
        seen_at=seen_at,
        record=(str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or ""), term),
        acknowledged=_number(annotations.get(names.ACKNOWLEDGED_TERM_ANNOTATION)),
        poll=float(_number(annotations.get(names.FENCE_POLL_ANNOTATION)) or DEFAULT_POLL_SECONDS),
    )


def term_of(document: Document) -> int:
    """The term of the leader that sent this object; 0 for one that came without a fence (Kueue's own manager)."""
    return _number(value_at(document, "metadata.annotations", {}).get(names.DISPATCH_TERM_ANNOTATION))


def origin_of(document: Document) -> str:
    return str(value_at(document, "metadata.labels", {}).get(names.MULTIKUEUE_ORIGIN_LABEL, ""))


def is_fenced(document: Document) -> bool:
    """Whether a hub sent it that goes by a lease; Kueue's own manager does not."""
    return bool(term_of(document) and origin_of(document))


def stops_when_lost(document: Document) -> bool:
    annotations = value_at(document, "metadata.annotations", {})
    return bool(annotations.get(names.ON_CONTACT_LOST_ANNOTATION) == names.STOP_ON_CONTACT_LOST)


def why_not_start(job: Document, lease: HubLease | None, instant: float) -> str:
    """Why a job may not be started now; empty when it may. ``lease`` is that of the hub the job came from, read after
    the job was."""
    term = term_of(job)
    if not is_fenced(job):
        return ""
    if lease is None:
        return f"the hub that sent it (term {term}) holds no lease in this cluster"
    if term != lease.term:
        return f"sent in term {term} of its hub, whose leader is in term {lease.term}"
    if stops_when_lost(job) and lease.lapsed(instant):
        return f"the lease of its hub lapsed {instant - lease.seen_at - lease.duration:.0f} s ago"
    return ""


def stops(copies: Iterable[Document], lease: HubLease, instant: float) -> Iterator[ApplyStatus]:
    """Deactivate the ``copies`` of a hub that hold quota although it may by now start them elsewhere."""
    for copy in copies:
        if not lease.lapsed(instant) or not _holds(copy):
            continue
        message = f"The hub {lease.origin} has not renewed its lease for {lease.duration:.0f} s"
        yield ApplyStatus(
            resource=WORKLOADS,
            key=key_of(copy),
            field_manager=ADMISSION_MANAGER,
            conditions=(SetCondition(names.DEACTIVATION_TARGET, "True", names.HUB_CONTACT_LOST, message),),
        )


def must_be_watched(copy: Document) -> bool:
    """Whether the copy is to be stopped when its hub is lost: what holds no quota runs nothing."""
    return stops_when_lost(copy) and bool(term_of(copy)) and _holds(copy)


def lease_seconds(document: Document) -> float:
    """How long the lease of the hub was that sent it."""
    told = _number(value_at(document, "metadata.annotations", {}).get(names.LEASE_SECONDS_ANNOTATION))
    return float(told) if told > 0 else DEFAULT_LEASE_SECONDS


def key_of(document: Document) -> Key:
    return workload_status.key_of(document)


def _holds(copy: Document) -> bool:
    if value_at(copy, "spec.active", True) is False or not reservation.has_quota(copy):
        return False
    stopping = (names.FINISHED, names.EVICTED, names.DEACTIVATION_TARGET)
    return not any(workload_status.is_true(copy, condition) for condition in stopping)


def _number(text: object) -> int:
    try:
        return int(str(text or 0))
    except ValueError:
        return 0

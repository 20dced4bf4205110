"""One Workload of the manager, its owner, and its copies on the workers: all that ``sync.decide`` looks at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import msgspec

from hub.engine.sync_owner import Owner
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Condition, Key
from worker_agent.api.workload import AdmissionCheckState, Workload

ALL_AT_ONCE: Final = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL: Final = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
CAPACITY_AWARE: Final = "fedhub.dev/capacity-aware"

SINGLE_CLUSTER_PREEMPTION_TIMEOUT: Final = timedelta(minutes=5)
"""How long one cluster may preempt before the next copy's gate is opened (spec 13; not configurable)."""

DEFERRED_SYNC_SECONDS: Final = 2.0
"""When to look again at a job whose status could not be copied yet."""

SIGHTS_REMEMBERED: Final = 1024

_decoder = msgspec.json.Decoder(Workload)
_sights: "dict[int, Sight]" = {}
"""By the identity of the document, which each of them holds."""


@dataclass(frozen=True, slots=True)
class SyncPolicy:
    """The switches of the state machine, resolved once (spec 16)."""

    origin: str = "multikueue"
    worker_lost_timeout: timedelta = timedelta(minutes=15)
    dispatcher: str = CAPACITY_AWARE
    keep_when_lost: bool = False
    """What runs on a worker out of contact is left alone for as long as that lasts; no second copy is made."""
    lease_seconds: int = 40
    """How long the hub's lease on a worker lasts unrenewed."""
    orchestrated_preemption: bool = False
    priority_boost: bool = False
    jobs: JobPolicy = field(default_factory=JobPolicy)


@dataclass(frozen=True, slots=True)
class Sight:
    """A Workload as it stands: typed view for reading, document for copying and writing."""

    view: Workload
    document: Document

    @classmethod
    def of(cls, document: Document) -> "Sight":
        """Of one document it is made once: a group is loaded many times while its objects stay as they are."""
        known = _sights.get(id(document))
        if known is not None and known.document is document:
            return known
        sight = cls(_decoder.decode(msgspec.json.encode(document)), document)
        if len(_sights) >= SIGHTS_REMEMBERED:
            _sights.clear()
        _sights[id(document)] = sight
        return sight

    @property
    def key(self) -> Key:
        return self.view.metadata.key

    def condition(self, type_: str) -> Condition | None:
        return self.view.condition(type_)

    def is_true(self, type_: str) -> bool:
        return self.view.is_true(type_)

    def since(self, type_: str) -> datetime | None:
        found = self.view.condition(type_)
        return found.last_transition_time if found else None


@dataclass(frozen=True, slots=True)
class Remote:
    """What one connected worker holds: the copy of the Workload, and the job created from it.

    ``foreign`` says that a Workload of this name without our origin stands there: it is never touched, nor taken for a
    copy. ``job`` may be an object of somebody else; every use of it checks the origin first.
    """

    copy: Sight | None = None
    job: Document | None = None
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Component:
    """A sibling Workload of a multi-workload owner; ``index`` is None where the annotation is missing or unreadable."""

    key: Key
    index: int | None
    cluster_name: str


@dataclass(frozen=True, slots=True)
class Components:
    """The Workloads of one owner that must share a cluster, the one decided for included."""

    expected: int
    members: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class RemoteGroup:
    """``connected`` and ``unavailable`` keep the configuration's order and together hold its clusters.

    ``unavailable`` gives since when a cluster is out of contact, None where there never was a connection entry. The
    Workload's own cluster is there too when it left the configuration while out of contact. ``outside`` are connected
    clusters that the configuration does not (any more) name, and on which objects of ours stand.
    ``terms`` are the hub's terms on the connected clusters that know them: what is sent there carries them.
    ``declared_lost`` are clusters out of contact on which, says their administrator, nothing runs any more.
    ``by_label`` are connected clusters without an agent of ours: a Kueue may run there that finds a job's Workload by
    its label alone, as 0.17 does; later ones read the label too.
    ``config_error`` is why the check's configuration could not be read. ``checks`` are the Workload's MultiKueue checks
    in status order; only the first counts. A deleted Workload is the last one seen.
    """

    local: Sight
    policy: SyncPolicy
    checks: tuple[AdmissionCheckState, ...] = ()
    owner: Owner = field(default_factory=Owner)
    job: Document | None = None
    deleted: bool = False
    config_error: str = ""
    connected: Mapping[str, Remote] = field(default_factory=dict)
    unavailable: Mapping[str, datetime | None] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    outside: Mapping[str, Remote] = field(default_factory=dict)
    terms: Mapping[str, int] = field(default_factory=dict)
    declared_lost: frozenset[str] = frozenset()
    by_label: frozenset[str] = frozenset()
    components: Components | None = None
    replica_role: str = "standalone"
    unmarked: bool = False
    """The API server here does not keep the job's managedBy, so the job's own controller would run it here as well.

    The check stays Pending then and the job suspended for as long as it runs elsewhere (see ``placed``).
    """

    @property
    def key(self) -> Key:
        return self.local.key

    @property
    def check(self) -> AdmissionCheckState:
        return self.checks[0]

    @property
    def cluster_name(self) -> str:
        return self.local.view.status.cluster_name or ""

    @property
    def placed(self) -> bool:
        """A cluster runs the job: the check says Ready, or would if it had not to stay Pending."""
        state = self.check.state
        return state == names.CHECK_READY or (
            self.unmarked and state == names.CHECK_PENDING and bool(self.cluster_name)
        )

    @property
    def has_quota(self) -> bool:
        return self.local.is_true(names.QUOTA_RESERVED)

    @property
    def elastic(self) -> bool:
        return (
            self.policy.jobs.elastic_jobs
            and self.local.view.metadata.annotation(names.ELASTIC_JOB_ANNOTATION) == "true"
        )

    def jobs_at(self, cluster: str) -> JobPolicy:
        """How jobs are written for a cluster."""
        jobs = self.policy.jobs
        return replace(jobs, identifier_annotations=False) if cluster in self.by_label else jobs

    def copies(self) -> Iterator[tuple[str, Sight]]:
        """Connected clusters that hold a copy, in configuration order."""
        for name in self.order:
            remote = self.connected.get(name)
            if remote is not None and remote.copy is not None:
                yield name, remote.copy

    def admitted(self) -> tuple[str, Sight] | None:
        """The copy that runs the job: the chosen one while it is admitted, else the one admitted first.

        A worker may come back into contact with a copy admitted before the chosen one: the choice stands. While the
        chosen worker is out of contact its job may run, so no other copy takes its place.
        """
        if self.cluster_name in self.unavailable and self.placed:
            return None
        chosen = self.connected.get(self.cluster_name)
        if chosen is not None and chosen.copy is not None and chosen.copy.is_true(names.ADMITTED):
            return self.cluster_name, chosen.copy
        return self.first_with(names.ADMITTED)

    def first_with(self, condition: str) -> tuple[str, Sight] | None:
        """The copy on which ``condition`` became True first; among equals the first in configuration order."""
        holders = [(name, copy) for name, copy in self.copies() if copy.is_true(condition)]
        return min(holders, key=lambda held: _moment(held[1].since(condition)), default=None)


def _moment(instant: datetime | None) -> float:
    return instant.timestamp() if instant is not None else float("-inf")

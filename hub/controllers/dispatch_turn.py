"""A workload's turn in the dispatch loop: what is asked of which clusters, gathered from the manager's objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from hub.controllers.federation_objects import FederationObjects
from hub.controllers.sync_controller import SyncController
from hub.engine import (
    admission_check,
    candidates,
    dispatch,
    group_loading,
    needs,
    remote_objects,
    sync_owner,
    sync_refusal,
)
from hub.engine.candidates import Asked
from hub.engine.dispatch import Candidates
from hub.engine.evaluation import Evaluation, Request
from hub.engine.needs import Need
from hub.engine.remote_group import Sight, SyncPolicy
from hub.engine.sync_owner import KindTable
from worker_agent.api import names, timestamps
from worker_agent.api.dispatch_policy import DispatchPolicySpec
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.clock import Clock


@dataclass(frozen=True, slots=True)
class Turn:
    """``nominated`` are the clusters it is nominated to, ``current`` the first; ``refusals`` those of them that will
    not take it as things stand, and why. ``unreported``: the job's kind, where no agent tells whether it is run."""

    sight: Sight
    request: Request
    asked: Asked
    order: tuple[str, ...]
    policy: DispatchPolicySpec
    nominated: tuple[str, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)
    round_started: datetime | None = None
    refused: frozenset[str] = frozenset()
    held_since: datetime | None = None
    unreported: ResourceType | None = None

    @property
    def key(self) -> Key:
        return self.sight.key

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a worker has to be asked for before the job is sent there."""
        found = needs.of_workload(self.sight.document)
        return (needs.served(self.unreported), *found) if self.unreported is not None else found

    @property
    def current(self) -> str:
        return self.nominated[0] if self.nominated else ""

    def candidates(self, answer: Sequence[Evaluation]) -> Candidates:
        """All candidates in configuration order: those that answered and those that were not asked."""
        found = {evaluation.cluster: evaluation for evaluation in (*self.asked.closed, *answer)}
        return Candidates(
            key=self.key,
            evaluations=tuple(found[name] for name in self.order if name in found),
            current=self.current,
            nominated=self.nominated,
            refused=self.refused,
            held_since=self.held_since,
            preference=self.asked.preference,
        )


class TurnMaker:
    """Makes turns from what is known now."""

    def __init__(
        self, objects: FederationObjects, sync: SyncController, kinds: KindTable, policy: SyncPolicy, clock: Clock
    ) -> None:
        self._objects = objects
        self._sync = sync
        self._kinds = kinds
        self._policy = policy
        self._clock = clock

    def make(self, key: Key) -> Turn | None:
        """The turn of a Workload that waits for a cluster; None for every other."""
        document = self._objects.workload(key)
        return self.of(document) if document is not None else None

    def of(self, document: Document) -> Turn | None:
        """The turn of the Workload as ``document`` has it."""
        sight = Sight.of(document)
        checks = group_loading.multikueue_checks(sight.view, self._objects)
        if not checks or not dispatch.may_be_dispatched(sight, checks[0].name):
            return None
        return self._turn(sight, checks[0].name)

    def paused(self, key: Key) -> Turn | None:
        """The turn that a Workload would have whose quota was given back; None for every other."""
        document = self._objects.workload(key)
        sight = Sight.of(document) if document is not None else None
        if sight is None or not sync_refusal.is_paused(sight.view):
            return None
        checks = group_loading.multikueue_checks(sight.view, self._objects)
        return self._turn(sight, checks[0].name) if checks else None

    def _turn(self, sight: Sight, check: str) -> Turn | None:
        document, key = sight.document, sight.key
        owner = sync_owner.find(sight.view, self._kinds)
        order = self._clusters(check)
        if owner.kind is None or not order:
            return None
        policy = self._objects.dispatch_policy(sight.view)
        workers = self._sync.federation().workers
        asked = candidates.choose(order, self._known_clusters(order), workers, policy, sight.view)
        nominated = tuple(sight.view.status.nominated_cluster_names or ())
        kind = owner.kind
        request = Request(key.namespace, key.name, kind.framework, asked.open, self._as_copy(sight))
        refusals = {}
        for cluster in nominated:
            if cluster in workers:
                copy = group_loading.remote(workers[cluster], key, document, owner, self._policy.origin).copy
                refusals[cluster] = dispatch.refusal(copy)
        dispatched = sight.condition(names.DISPATCHED)
        started = dispatched.last_transition_time if dispatched is not None and nominated else None
        said_no = {cluster: reason for cluster, reason in refusals.items() if reason}
        turn = Turn(sight, request, asked, tuple(order), policy, nominated, said_no, started)
        return turn if kind.framework else replace(turn, unreported=kind.resource)

    def undecided(self) -> list[Key]:
        """The Workloads with a MultiKueue check that run in no cluster: ``make`` tells which of them wait for one."""
        found = (self._objects.workloads.get(key) for key in self._objects.all_workloads())
        return [one.metadata.key for one in found if one is not None and not one.status.cluster_name]

    def in_order(self, turns: Sequence[Turn]) -> list[Turn]:
        """Those of higher priority choose first, then those that waited longest."""
        by_key = {turn.key: turn for turn in turns}
        return [by_key[sight.key] for sight in dispatch.priority_order([turn.sight for turn in turns])]

    def cluster_of(self, key: Key) -> str:
        """The cluster the Workload runs in, if it has one."""
        document = self._objects.workload(key)
        return str((document.get("status") or {}).get("clusterName", "")) if document is not None else ""

    def _clusters(self, check: str) -> list[str]:
        found = self._objects.admission_check(check)
        try:
            return group_loading.clusters_of(found, self._objects) if found is not None else []
        except admission_check.BadReference:
            return []

    def _known_clusters(self, order: Sequence[str]) -> dict[str, MultiKueueCluster]:
        found = {name: self._objects.clusters.get(Key("", name)) for name in order}
        return {name: cluster for name, cluster in found.items() if cluster is not None}

    def _as_copy(self, sight: Sight) -> bytes:
        """The Workload as a worker would see it, created now: behind all that wait there with the same priority."""
        copy = remote_objects.workload_copy(sight.document, self._policy)
        copy["metadata"]["creationTimestamp"] = timestamps.rfc3339(self._clock.now())
        return msgspec.json.encode(copy)

"""A cluster of one engine on virtual time: Workloads arrive, are admitted, run for their time and finish.

It stands in for API server, informers and job controllers. Objects live in a dictionary; writes are built as the agent
builds them, taken over into the dictionary and dropped.
"""

import gzip
import heapq
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import process_time
from typing import NamedTuple

import msgspec

from tests.builders import local_queue, namespace, workload
from tests.conformance import engine_objects
from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import intent_effects, reservation, scheduling_writes
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.intents import ApplyStatus, Intent
from worker_agent.engine.plan import Admit, Plan, Preempt, Requeue
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.reservation import Observability
from worker_agent.engine.state import ClusterState
from worker_agent.engine.workload_status import StatusDraft

START = timestamps.parse("2026-01-01T12:00:00Z")
NAMESPACE = "default"
HOW = Observability()


class WorkloadRun(NamedTuple):
    """Times in microseconds since the start."""

    key: Key
    created: int
    runtime: int
    document: Document


@dataclass(frozen=True)
class Work:
    """Objects of the cluster, and the Workloads in order of creation."""

    objects: list[Document]
    rows: list[WorkloadRun]


def load(folder: Path, name: str) -> Work:
    """A recorded workload set. ``-all-at-t0`` is the set without the suffix, created at once."""
    base = name.removesuffix("-all-at-t0")
    with gzip.open(folder / f"{base}-objects.json.gz") as file:
        recorded = json.load(file)
    queues = [entry["metadata"]["name"] for entry in recorded["objects"] if entry["kind"] == "ClusterQueue"]
    objects = [namespace(NAMESPACE), *recorded["objects"]]
    objects += [local_queue(queue, queue, namespace=NAMESPACE) for queue in queues]
    rows = [_row(entry, at_once=base != name) for entry in recorded["workloads"]]
    return Work(objects, sorted(rows, key=lambda row: row.created))


def _row(entry: Document, at_once: bool) -> WorkloadRun:
    created = 0 if at_once else 1000 * entry["createdMs"]
    since = START + timedelta(microseconds=created + entry["createdTieUs"])
    document = workload(
        entry["name"],
        queue=entry["clusterQueue"],
        cpu=entry["cpu"],
        priority=entry["priority"],
        created=timestamps.rfc3339_micro(since),
        namespace=NAMESPACE,
        metadata={"uid": entry["uid"]},
    )
    return WorkloadRun(Key(NAMESPACE, entry["name"]), created, entry["runtimeUs"], document)


class ExactState(ClusterState):
    """Knows reservations to the microsecond, as the reference did whose objects never left memory.

    A cluster's objects tell whole seconds, and ClusterState goes by them; many reservations of one second would then be
    taken from in another order than in the recorded run.
    """

    def _second(self) -> int:
        return self._clock


class VirtualCluster:
    """``t`` is the time in microseconds since the start."""

    def __init__(self, work: Work) -> None:
        self.t = 0
        self.admissions = 0
        self.preemptions = 0
        self.finished = 0
        self.heads = 0
        self.status_writes = 0
        self.decoding = 0.0
        self.moved = False
        """Whether the last cycle admitted or evicted anybody."""
        self.state = ExactState(DEFAULT)
        self._runtimes = {row.key: row.runtime for row in work.rows}
        self._coming = list(reversed([(row.created, row.key) for row in work.rows]))
        self._documents = {row.key: row.document for row in work.rows}
        self._running: dict[Key, int] = {}
        self._reserved: dict[str, str] = {}
        self._ends: list[tuple[int, str, Key]] = []
        engine_objects.load(self.state, work.objects, START)

    @property
    def now(self) -> datetime:
        return START + timedelta(microseconds=self.t)

    @property
    def competing(self) -> int:
        """Workloads in active queues."""
        return sum(queue.active_count for queue in self.state.pending.values())

    @property
    def next_instant(self) -> int | None:
        """When the next Workload ends or arrives."""
        self._drop_cancelled()
        instants = [self._ends[0][0]] if self._ends else []
        instants += [self._coming[-1][0]] if self._coming else []
        return min(instants, default=None)

    def _drop_cancelled(self) -> None:
        while self._ends and self._running.get(self._ends[0][2]) != self._ends[0][0]:
            heapq.heappop(self._ends)

    # -- what the controllers of jobs and workloads do -----------------------------------------------------------------

    def arrivals(self) -> list[Workload]:
        keys = []
        while self._coming and self._coming[-1][0] <= self.t:
            keys.append(self._coming.pop()[1])
        return self.views(keys)

    def ends(self) -> list[Workload]:
        """Those whose time is over, by time, then name."""
        keys = []
        self._drop_cancelled()
        while self._ends and self._ends[0][0] <= self.t:
            key = heapq.heappop(self._ends)[2]
            del self._running[key]
            self._documents[key] = _with_finished(self._documents[key], self.now)
            keys.append(key)
            self._drop_cancelled()
        self.finished += len(keys)
        views = self.views(keys)
        for key in keys:
            del self._documents[key]
        return views

    def completed_evictions(self, plan: Plan) -> list[Workload]:
        """The pods of evicted Workloads are gone at once: their quota goes back."""
        keys = [step.key for step in plan.preemptions]
        for key in keys:
            draft = StatusDraft(self._documents[key], self.now)
            reservation.release(draft, requeue=True, how=HOW)
            self._documents[key] = draft.document
            del self._running[key]
            del self._reserved[key.name]
        return self.views(keys)

    # -- what the engine's thread and the writer do --------------------------------------------------------------------

    def observe(self, views: Iterable[Workload]) -> None:
        """What the informers show, and the wake-ups that come of it."""
        now = self.now
        for view in views:
            self.state.put_workload(view, now)
        self.state.flush_requeues(now)

    def decide(self) -> Plan:
        now = self.now
        heads = self.state.heads(now)
        self.heads += len(heads)
        return run_cycle(self.state, heads, DEFAULT, now)

    def write(self, plan: Plan) -> list[Key]:
        """Build what the plan's steps write; returns whose objects changed."""
        now = self.now
        written = []
        for step in plan:
            key = step.key
            document = self._documents[key]
            if isinstance(step, Admit):
                intents = scheduling_writes.admit(document, step, frozenset(), HOW, now)
                self._started(key)
            elif isinstance(step, Preempt):
                intents = scheduling_writes.preempt(document, step, now)
                intents.append(scheduling_writes.preemptor_event(self._documents[step.preemptor], step))
            elif isinstance(step, Requeue):
                intents = scheduling_writes.requeue(document, step, HOW, now)
            else:
                raise TypeError(step)
            if self._apply(key, document, intents, now):
                written.append(key)
        self.preemptions += len(plan.preemptions)
        self.moved = plan.progressed
        return written

    def _started(self, key: Key) -> None:
        self.admissions += 1
        self._reserved[key.name] = timestamps.rfc3339_micro(self.now)
        end = self._running[key] = self.t + self._runtimes[key]
        heapq.heappush(self._ends, (end, key.name, key))

    def _apply(self, key: Key, document: Document, intents: list[Intent], now: datetime) -> bool:
        """As the Applier: the document after the changes, and the body that it would send, by field manager."""
        managers: dict[str, list[ApplyStatus]] = {}
        for intent in intents:
            if isinstance(intent, ApplyStatus):
                managers.setdefault(intent.field_manager, []).append(intent)
        after = document
        for changes in managers.values():
            before = after
            for change in changes:
                after = intent_effects.status_after(after, change, now)
            if after is not before:
                intent_effects.applied_status(after, changes)
                self.status_writes += 1
        self._documents[key] = after
        return after is not document

    def _exact(self, document: Document) -> Document:
        """The document with the exact time of its reservation (see ``ExactState``)."""
        since = self._reserved.get(document["metadata"]["name"])
        if since is None:
            return document
        conditions = [
            {**condition, "lastTransitionTime": since} if condition["type"] == names.QUOTA_RESERVED else condition
            for condition in document["status"]["conditions"]
        ]
        return {**document, "status": {**document["status"], "conditions": conditions}}

    def views(self, keys: Iterable[Key]) -> list[Workload]:
        """What informers decode of the objects as they are; its CPU time is kept apart."""
        began = process_time()
        encoded = [msgspec.json.encode(self._exact(self._documents[key])) for key in keys]
        views = [msgspec.json.decode(raw, type=Workload) for raw in encoded]
        self.decoding += process_time() - began
        return views


def _with_finished(document: Document, now: datetime) -> Document:
    draft = StatusDraft(document, now)
    draft.set(names.FINISHED, True, "Succeeded", "")
    return draft.document

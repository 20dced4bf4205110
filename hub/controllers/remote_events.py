"""Leads what happens on workers to whom it concerns: Workloads' synchronisation, and the evaluator's knowledge."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hub.clusters.worker_connection import WorkerConnection
from hub.clusters.worker_watches import KNOWLEDGE, RemoteObject
from hub.controllers.sync_controller import SyncController
from hub.engine import knowledge_event
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.views import UNREADABLE
from hub.evaluation.evaluator import Evaluator
from worker_agent.api import names
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS, ResourceType
from worker_agent.kube.informer import Event

TURNING_POINTS: Final = (names.QUOTA_RESERVED, names.ADMITTED, names.EVICTED, names.FINISHED)
"""Conditions on which somebody waits: a copy that passes one of them is looked at without the batch's delay."""

LONGEST_LABEL_VALUE: Final = 63


@dataclass(frozen=True, slots=True)
class Listeners:
    """``learned(cluster)`` hears of new knowledge, ``turned(key)`` of a copy that passed a turning point.

    ``given_up(key, cluster)`` hears of a copy that its worker is about to deactivate: of that the copy itself tells
    only for a moment, for the synchronisation makes it anew.
    """

    learned: Callable[[str], None]
    turned: Callable[[Key], None]
    given_up: Callable[[Key, str], None]


class RemoteEvents:
    """Subscribes to every WorkerConnection. ``batch_period`` in seconds."""

    def __init__(
        self,
        sync: SyncController,
        evaluator: Evaluator,
        origin: str,
        jobs: JobPolicy,
        batch_period: float,
        listeners: Listeners,
    ) -> None:
        self._sync = sync
        self._evaluator = evaluator
        self._origin = origin
        self._jobs = jobs
        self._batch_period = batch_period
        self._listeners = listeners

    def __call__(self, cluster: str, resource: ResourceType, event: Event[RemoteObject], raw: bytes) -> None:
        if resource == WORKLOADS or resource in KNOWLEDGE:
            self._observe(KnowledgeEvent(cluster, resource.plural, event.key.namespace, event.key.name, raw))
        found = event.new or event.old
        if found is None or found.metadata.label(names.MULTIKUEUE_ORIGIN_LABEL) != self._origin:
            return
        if resource == WORKLOADS:
            if _given_up(event):
                self._listeners.given_up(event.key, cluster)
            turned = _turned(event)
            self._sync.enqueue(event.key, 0.0 if turned else self._batch_period)
            if turned:
                self._listeners.turned(event.key)
        else:
            pointer = self._pointer(found)
            if pointer:
                self._sync.enqueue(Key(event.key.namespace, pointer), self._batch_period)

    def reset(self, cluster: str) -> None:
        """A connection begins or ends: what was known through it is known no more."""
        self._observe(knowledge_event.forgotten(cluster))

    def opened(self, link: WorkerConnection) -> None:
        """All first lists are in; what could not be read is part of what is known."""
        self._observe(_unreadable(link))

    def _observe(self, event: KnowledgeEvent) -> None:
        self._evaluator.observe(event)
        self._listeners.learned(event.cluster)

    def _pointer(self, job: RemoteObject) -> str:
        """The Workload a remote job was created for."""
        label = job.metadata.label(names.PREBUILT_WORKLOAD)
        annotation = job.metadata.annotation(names.PREBUILT_WORKLOAD)
        if self._jobs.identifier_annotations:
            return annotation or label
        return label or (annotation if len(annotation) > LONGEST_LABEL_VALUE else "")


def knowledge_of(link: WorkerConnection) -> Iterator[KnowledgeEvent]:
    """Everything a connection knows, as the events that would tell it again."""
    for resource, informer in link.watches.all():
        if resource == WORKLOADS or resource in KNOWLEDGE:
            keys = informer.keys()
            for key in keys:
                yield KnowledgeEvent(link.name, resource.plural, key.namespace, key.name, informer.raw(key))
    yield _unreadable(link)


def _unreadable(link: WorkerConnection) -> KnowledgeEvent:
    return KnowledgeEvent(link.name, UNREADABLE, raw=",".join(link.unknown).encode())


def _turned(event: Event[RemoteObject]) -> bool:
    if event.old is None or event.new is None:
        return True
    return _passed(event.old) != _passed(event.new)


def _given_up(event: Event[RemoteObject]) -> bool:
    return _to_be_deactivated(event.new) and not _to_be_deactivated(event.old)


def _to_be_deactivated(found: RemoteObject | None) -> bool:
    conditions = found.status.conditions if found is not None else None
    return any(each.type == names.DEACTIVATION_TARGET and each.is_true for each in conditions or ())


def _passed(found: RemoteObject) -> list[tuple[str, str, str]]:
    conditions = found.status.conditions or ()
    return [(each.type, each.status, each.reason) for each in conditions if each.type in TURNING_POINTS]

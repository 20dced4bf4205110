"""The answer: a PendingWorkloadsSummary, read from the engine's published view. Pure."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.view import EngineView, QueuePicture
from worker_agent.engine.workload_info import WorkloadRow
from worker_agent.visibility.question import GROUP, Page, QueueQuestion


class Place(NamedTuple):
    """A waiting workload and its positions, both from 0."""

    row: WorkloadRow
    in_cluster_queue: int
    in_local_queue: int


def of(view: EngineView, question: QueueQuestion, page: Page) -> Document | None:
    """None for a queue that is not known. A LocalQueue without its ClusterQueue is known, and nothing waits in it."""
    places = _places(view, question)
    if places is None:
        return None
    return {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": f"{GROUP}/{question.version}",
        "metadata": {},
        "items": [_item(place) for place in islice(places, page.offset, page.offset + page.limit)],
    }


def _places(view: EngineView, question: QueueQuestion) -> Iterator[Place] | None:
    if not question.namespace:
        queue = view.cluster_queues.get(question.name)
        return None if queue is None else _in_order(queue)
    key = Key(question.namespace, question.name)
    if view.local_queue(key) is None:
        return None
    queue = view.cluster_queues.get(view.cluster_queue_of(key))
    return iter(()) if queue is None else (place for place in _in_order(queue) if place.row.queue == key)


def _in_order(queue: QueuePicture) -> Iterator[Place]:
    """All that wait, parked ones and those in flight included, as the queue ranks them."""
    ahead: Counter[Key] = Counter()
    for position, row in enumerate(queue.ranked):
        yield Place(row, position, ahead[row.queue])
        ahead[row.queue] += 1


def _item(place: Place) -> Document:
    workload = place.row.workload
    metadata: Document = {"name": workload.metadata.name, "namespace": workload.metadata.namespace}
    if workload.metadata.creation_timestamp is not None:
        metadata["creationTimestamp"] = timestamps.rfc3339(workload.metadata.creation_timestamp)
    owners = [
        {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        for owner in workload.metadata.owner_references or ()
    ]
    if owners:
        metadata["ownerReferences"] = owners
    return {
        "metadata": metadata,
        "priority": workload.spec.priority or 0,
        "localQueueName": workload.spec.queue_name,
        "positionInClusterQueue": place.in_cluster_queue,
        "positionInLocalQueue": place.in_local_queue,
    }

"""Worker clusters as a hub knows them, for measuring evaluation: many queues, all of them known up to date.

Of ten queues seven have room, two are full (others wait there already), and one is full of workloads of lower priority.
Which queue is which differs from cluster to cluster, so a workload meets the same mix across clusters: 70 % FITS,
20 % WAITS, 10 % FITS_AFTER_PREEMPTION with up to 20 victims.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from hub.engine.evaluation import Request
from hub.engine.knowledge_event import KnowledgeEvent
from worker_agent.api.document import Document

QUEUES: Final = 1_000
QUEUES_OF_COHORT: Final = 20
NAMESPACE: Final = "team"
NOMINAL: Final = {"roomy": 100, "full": 24, "preemptible": 20}
HELD: Final = {"roomy": 8, "full": 12, "preemptible": 20}
"""Workloads per queue, ten over the mix."""
CPUS: Final = {"roomy": 1, "full": 2, "preemptible": 1}
"""Of each of those."""
PENDING: Final = 3
"""Workloads that wait in a full queue."""

_CREATED: Final = "2026-01-01T10:00:00Z"


def sort_of(queue: int, cluster: int) -> str:
    """What a queue is like in a cluster."""
    place = (queue + cluster) % 10
    return "roomy" if place < 7 else "full" if place < 9 else "preemptible"


def name_of(cluster: int) -> str:
    return f"worker-{cluster}"


def events(cluster: int, queues: int = QUEUES) -> Iterator[KnowledgeEvent]:
    """Everything the hub hears of one cluster."""
    name = name_of(cluster)
    yield _event(name, "namespaces", {"metadata": {"name": NAMESPACE}})
    yield _event(name, "resourceflavors", {"metadata": {"name": "default"}, "spec": {}})
    for queue in range(queues):
        yield from _queue(name, queue, sort_of(queue, cluster))
    yield KnowledgeEvent(name, "unreadable", raw=b"clustercapacities")


def requests(count: int, clusters: int, queues: int = QUEUES) -> list[Request]:
    """Workloads, each for another queue, that may go to every cluster; they ask for 1 to 20 cpus."""
    names = tuple(name_of(cluster) for cluster in range(clusters))
    found = []
    for number in range(count):
        document = _workload(f"new-{number}", number % queues, cpu=1 + number % 20, priority=100)
        found.append(Request(NAMESPACE, f"new-{number}", "batch/job", names, msgspec.json.encode(document)))
    return found


def _queue(cluster: str, queue: int, sort: str) -> Iterator[KnowledgeEvent]:
    resources = [{"name": "cpu", "nominalQuota": NOMINAL[sort], "borrowingLimit": 0}]
    spec = {
        "cohortName": f"cohort-{queue // QUEUES_OF_COHORT}",
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}],
        "preemption": {
            "withinClusterQueue": "LowerPriority" if sort == "preemptible" else "Never",
            "reclaimWithinCohort": "Any",
        },
    }
    yield _event(cluster, "clusterqueues", {"metadata": {"name": f"cq-{queue}"}, "spec": spec})
    metadata = {"name": f"lq-{queue}", "namespace": NAMESPACE}
    yield _event(cluster, "localqueues", {"metadata": metadata, "spec": {"clusterQueue": f"cq-{queue}"}})
    for number in range(HELD[sort]):
        yield _event(cluster, "workloads", _held(f"w-{queue}-{number}", queue, CPUS[sort]))
    for number in range(PENDING if sort == "full" else 0):
        yield _event(cluster, "workloads", _workload(f"p-{queue}-{number}", queue, cpu=2, priority=100))


def hash_of(name: str) -> int:
    """A number that differs from name to name, the same on every run."""
    return sum(position * code for position, code in enumerate(name.encode(), 1))


def _workload(name: str, queue: int, *, cpu: int, priority: int) -> Document:
    containers = [{"name": "main", "image": "registry/train:1", "resources": {"requests": {"cpu": str(cpu)}}}]
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": containers}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name, "creationTimestamp": _CREATED},
        "spec": {
            "queueName": f"lq-{queue}",
            "priority": priority,
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
    }


def _held(name: str, queue: int, cpu: int) -> Document:
    document = _workload(name, queue, cpu=cpu, priority=0)
    since = f"2026-01-{1 + queue % 28:02}T{queue % 24:02}:{len(name) + queue % 40:02}:{hash_of(name) % 60:02}Z"
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": str(cpu)}, "count": 1}
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": since}
        for kind in ("QuotaReserved", "Admitted")
    ]
    admission = {"clusterQueue": f"cq-{queue}", "podSetAssignments": [assignment]}
    return {**document, "status": {"admission": admission, "conditions": conditions}}


def _event(cluster: str, plural: str, document: Document) -> KnowledgeEvent:
    metadata = document["metadata"]
    return KnowledgeEvent(
        cluster, plural, metadata.get("namespace", ""), metadata["name"], msgspec.json.encode(document)
    )

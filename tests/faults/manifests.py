"""What stands on the clusters of a federation under faults before anything happens, and the jobs of its users."""

from tests.faults.players import RUN_SECONDS
from tests.faults.script import WORKERS
from tests.integration.federation.world import federation, job, node, queues
from worker_agent.api.document import Document

WORKER_CPU = 4
MANAGER_CPU = 8
NAMESPACE = "ns"
URGENT: Document = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "urgent"},
    "value": 100,
}


def manager(*, keep: bool) -> list[Document]:
    documents = [*queues(cpu=MANAGER_CPU, checks=["mk"]), *federation(*WORKERS), URGENT]
    for document in documents:
        if document["kind"] == "ClusterQueue":
            document["spec"]["preemption"] = {"withinClusterQueue": "LowerPriority"}
    return [*documents, policy(keep=keep)]


def policy(*, keep: bool) -> Document:
    """The DispatchPolicy that says what happens to jobs out of contact."""
    spec = {"onContactLost": "Keep" if keep else "Stop"}
    return {
        "apiVersion": "fedhub.dev/v1alpha1",
        "kind": "DispatchPolicy",
        "metadata": {"name": "default"},
        "spec": spec,
    }


def worker() -> list[Document]:
    return [*queues(cpu=WORKER_CPU), node(cpu=WORKER_CPU)]


def submitted(name: str, *, cpu: int, seconds: float, priority: int) -> Document:
    """A Job of one pod that works for so long."""
    document = job(name, cpu=cpu)
    document["spec"]["template"]["metadata"] = {"annotations": {RUN_SECONDS: str(seconds)}}
    if priority:
        document["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    return document

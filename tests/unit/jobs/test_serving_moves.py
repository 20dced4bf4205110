"""A serving set that is moved to another queue while its pods run: nothing is written that a webhook refuses."""

import pytest

from worker_agent.api.document import Document
from worker_agent.api.resource_type import PODS, WORKLOADS
from worker_agent.engine.intents import PatchObject
from worker_agent.jobs.serving_pass import without_moves_of_what_runs

QUEUE = "kueue.x-k8s.io/queue-name"
GATED = [{"name": "kueue.x-k8s.io/admission"}]
RESERVED = {"conditions": [{"type": "QuotaReserved", "status": "True"}], "admission": {"clusterQueue": "cq"}}


def pod(queue: str, gates: list[Document], **labels: str) -> Document:
    labels = {**({QUEUE: queue} if queue else {}), **labels}
    return {"metadata": {"name": "p", "namespace": "ns", "labels": labels}, "spec": {"schedulingGates": gates}}


def workload(queue: str, status: Document) -> Document:
    return {"metadata": {"name": "w", "namespace": "ns"}, "spec": {"queueName": queue}, "status": status}


@pytest.mark.parametrize(
    ("resource", "before", "after", "is_written"),
    [
        (PODS, pod("old", []), pod("new", []), False),
        (PODS, pod("old", GATED), pod("new", GATED), True),
        (PODS, pod("", []), pod("new", []), True),
        (WORKLOADS, workload("old", RESERVED), workload("new", RESERVED), False),
        (WORKLOADS, workload("old", {}), workload("new", {}), True),
    ],
)
def test_queue_is_followed_by_what_may_move(resource, before, after, is_written):
    assert bool(without_moves_of_what_runs([PatchObject(resource=resource, before=before, after=after)])) is is_written


def test_what_else_changes_is_written_all_the_same():
    (left,) = without_moves_of_what_runs(
        [PatchObject(resource=PODS, before=pod("old", []), after=pod("new", [], a="b"))]
    )
    assert left.after["metadata"]["labels"] == {QUEUE: "old", "a": "b"}

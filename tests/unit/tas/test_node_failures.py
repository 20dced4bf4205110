"""When a node counts as failed, and for whom (spec/tas 15.1 and 15.2)."""

from typing import Any

import pytest

from tests.unit.tas.small_topology import H, assignment
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.engine.tas import node_failures
from worker_agent.engine.tas.node_failures import FailureRules, NodeDecision, NodeView

NOW = timestamps.parse("2026-01-01T12:00:00Z")
TAINT = {"key": "gpu", "effect": "NoSchedule"}


def workload(place: str = "n1:1", failed: tuple[str, ...] = (), tolerations: tuple[Document, ...] = ()) -> Document:
    return {
        "metadata": {"name": "w", "namespace": "ns"},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": {"tolerations": list(tolerations)}}}]},
        "status": {
            "admission": {"podSetAssignments": [{"name": "main", "topologyAssignment": assignment(place).document()}]},
            "conditions": [{"type": "Admitted", "status": "True"}],
            "unhealthyNodes": [{"name": name} for name in failed],
        },
    }


def node(ready: str = "True", taints: tuple[Document, ...] = (), since: str = "2026-01-01T11:00:00Z") -> Document:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": since}
    return {"metadata": {"name": "n1"}, "spec": {"taints": list(taints)}, "status": {"conditions": [condition]}}


def pod(*, bound: bool = True, **fields: Any) -> Document:
    spec: Document = {"nodeName": "n1"} if bound else {"nodeSelector": {H: "n1"}}
    metadata = {"name": "p", "namespace": "ns", "annotations": {"kueue.x-k8s.io/workload": "w"}}
    status = {"phase": "Running" if bound else "Pending"}
    return {"metadata": {**metadata, **fields.pop("metadata", {})}, "spec": spec, "status": {**status, **fields}}


def decide(job: Document, machine: Document | None, *pods: Document, **rules: bool) -> NodeDecision:
    return node_failures.decide(NodeView("n1", machine, [job], pods, {}), FailureRules(**rules), NOW)


def test_a_missing_node_failed() -> None:
    assert decide(workload(), None, pod()).unhealthy == {"ns/w": ["n1"]}


def test_a_node_that_is_not_ready_fails_once_its_pods_are_gone() -> None:
    assert not decide(workload(), node("False"), pod()).unhealthy
    assert decide(workload(), node("False")).unhealthy == {"ns/w": ["n1"]}


def test_or_after_half_a_minute() -> None:
    since = "2026-01-01T11:59:50Z"
    waiting = decide(workload(), node("False", since=since), pod(), on_pod_termination=False)
    assert (waiting.unhealthy, waiting.requeue_after) == ({}, 20)
    assert decide(workload(), node("False"), pod(), on_pod_termination=False).unhealthy == {"ns/w": ["n1"]}


@pytest.mark.parametrize(
    ("toleration", "pods", "failed"),
    [
        pytest.param((), (), True, id="not tolerated"),
        pytest.param((), (pod(),), False, id="not tolerated, a pod runs on"),
        pytest.param(({"key": "gpu", "operator": "Exists"},), (), False, id="tolerated"),
        pytest.param(
            ({"key": "gpu", "operator": "Exists", "tolerationSeconds": 5},), (), True, id="tolerated for a time"
        ),
    ],
)
def test_taints(toleration: tuple[Document, ...], pods: tuple[Document, ...], failed: bool) -> None:
    found = decide(workload(tolerations=toleration), node(taints=(TAINT,)), *pods).unhealthy
    assert found == ({"ns/w": ["n1"]} if failed else {})


def test_taints_count_only_with_their_gate() -> None:
    assert not decide(workload(), node(taints=(TAINT,)), on_taints=False).unhealthy


def test_a_healthy_node_is_taken_from_the_list() -> None:
    assert decide(workload(failed=("n1",)), node()).unhealthy == {"ns/w": []}


def test_a_second_failed_node_evicts() -> None:
    told = "Workload eviction triggered due to multiple TAS assigned node failures, including: n2, n1"
    assert decide(workload("n1:1 n2:1", failed=("n2",)), None).evict == {"ns/w": told}


def test_pods_that_wait_for_the_node_are_ended() -> None:
    decision = decide(workload(), node("False"), pod(bound=False))
    assert [found["metadata"]["name"] for found in decision.terminate] == ["p"]


def test_also_those_of_a_workload_that_has_left() -> None:
    decision = decide(workload("n2:1"), node(), pod(bound=False))
    assert (len(decision.terminate), decision.unhealthy) == (1, {})


def test_finished_workloads_do_not_care() -> None:
    job = workload()
    job["status"]["conditions"].append({"type": "Finished", "status": "True"})
    assert not decide(job, None).unhealthy

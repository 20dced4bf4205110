"""Which gated pod goes to which domain (spec/tas 17 and 21.10)."""

from time import process_time

import pytest

from tests.unit.tas.small_topology import H, assignment
from worker_agent.api.document import Document
from worker_agent.engine.tas import ungating
from worker_agent.engine.tas.ungating import UngatingError

GATE = {"name": "kueue.x-k8s.io/topology"}
JOB = {"podIndexLabel": "index"}
JOB_SET = {"podIndexLabel": "index", "subGroupIndexLabel": "job", "subGroupCount": 2}


def workload(place: str, count: int, request: Document | None = None, failed: str = "") -> Document:
    return {
        "metadata": {"name": "w", "namespace": "ns"},
        "spec": {"podSets": [{"name": "main", "count": count, "topologyRequest": request or {}}]},
        "status": {
            "admission": {
                "podSetAssignments": [
                    {"name": "main", "count": count, "topologyAssignment": assignment(place).document()}
                ]
            },
            "conditions": [{"type": "Admitted", "status": "True"}],
            "unhealthyNodes": [{"name": failed}] if failed else [],
        },
    }


def pod(name: str, on: str = "", phase: str = "Pending", **labels: str) -> Document:
    spec = {"nodeSelector": {H: on}} if on else {"schedulingGates": [GATE]}
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": {"kueue.x-k8s.io/podset": "main", **labels},
            "annotations": {"kueue.x-k8s.io/workload": "w"},
        },
        "spec": spec,
        "status": {"phase": phase},
    }


def decided(job: Document, *pods: Document) -> dict[str, str]:
    return {step.pod["metadata"]["name"]: step.node_selector[H] for step in ungating.decide(job, pods)}


def test_by_rank() -> None:
    pods = [pod(f"p{i}", index=str(i)) for i in (2, 0, 1)]
    assert decided(workload("n1:2 n2:1", 3, JOB), *pods) == {"p0": "n1", "p1": "n1", "p2": "n2"}


def test_a_missing_pod_leaves_its_place() -> None:
    pods = [pod("p0", index="0"), pod("p2", index="2")]
    assert decided(workload("n1:2 n2:1", 3, JOB), *pods) == {"p0": "n1", "p2": "n2"}


def test_ranks_of_replicated_jobs() -> None:
    pods = [pod(f"p{job}{index}", job=str(job), index=str(index)) for job in (0, 1) for index in (0, 1)]
    expected = {"p00": "n1", "p01": "n1", "p10": "n1", "p11": "n2"}
    assert decided(workload("n1:3 n2:1", 4, JOB_SET), *pods) == expected


@pytest.mark.parametrize(
    "labels",
    [{}, {"index": "7"}, {"index": "-1"}, {"index": "0"}],
    ids=["no rank", "out of range", "no number", "taken"],
)
def test_one_bad_rank_makes_all_go_in_order(labels: dict[str, str]) -> None:
    pods = [pod("b", **labels), pod("a", index="0")]
    assert decided(workload("n1:1 n2:1", 2, JOB), *pods) == {"b": "n1", "a": "n2"}


def test_in_order_beside_those_that_run() -> None:
    pods = [pod("x", on="n1"), pod("a"), pod("b")]
    assert decided(workload("n1:2 n2:1", 3), *pods) == {"a": "n1", "b": "n2"}


def test_pods_that_ended_leave_their_place() -> None:
    assert decided(workload("n1:1", 1), pod("old", on="n1", phase="Failed"), pod("new")) == {"new": "n1"}


def test_more_pods_than_places() -> None:
    assert decided(workload("n1:1", 2, JOB), pod("a", index="1"), pod("b", index="0")) == {"a": "n1"}


def test_nobody_goes_to_a_failed_node() -> None:
    assert decided(workload("n1:1 n2:1", 2, failed="n1"), pod("a"), pod("b")) == {"b": "n2"}


def test_what_was_ungated_has_to_show_first() -> None:
    with pytest.raises(UngatingError, match="pending ungate operations"):
        ungating.decide(workload("n1:1", 1), [pod("a")], {"uid"})


def test_not_before_admission() -> None:
    job = workload("n1:1", 1)
    job["status"]["conditions"] = []
    assert not ungating.decide(job, [pod("a")])


def test_thousands_of_pods_are_placed_at_once() -> None:
    """Without ranks, beside pods that run: what a failed node leaves of a big job."""
    hosts = [f"n{number:04}" for number in range(3000)]
    running = [pod(f"r{number}", on=host) for number, host in enumerate(hosts[:-2])]
    job = workload(" ".join(f"{host}:1" for host in hosts), len(hosts))
    began = process_time()
    assert decided(job, *running, pod("w0"), pod("w1"), pod("w2")) == {"w0": "n2998", "w1": "n2999"}
    assert process_time() - began < 2.0

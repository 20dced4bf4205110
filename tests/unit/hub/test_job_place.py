"""Where a workload runs, what it waits for while it runs nowhere, and which Workloads are a job's."""

import pytest

from hub.engine import job_place, job_traces
from hub.engine.job_place import MANAGER
from worker_agent.api.document import Document


def condition(type_: str, status: str = "True", message: str = "", reason: str = "R") -> Document:
    return {"type": type_, "status": status, "message": message, "reason": reason}


def workload(name: str = "w", *conditions: Document, metadata: Document | None = None, **status: object) -> Document:
    return {
        "metadata": {"name": name, "namespace": "ns", **(metadata or {})},
        "spec": {},
        "status": {"conditions": list(conditions), **status},
    }


RESERVED = condition("QuotaReserved")
WAITS = condition("QuotaReserved", "False", "insufficient quota for cpu")
LATER = condition("fedhub.dev/Dispatched", "False", "no cluster has room", "NoClusterFits")


@pytest.mark.parametrize(
    ("found", "cluster", "why"),
    [
        (workload("w", WAITS), None, "it waits for quota on the manager: insufficient quota for cpu"),
        (workload("w"), None, "it waits for quota on the manager"),
        (
            workload("w", RESERVED, LATER),
            None,
            "it is not dispatched to a cluster yet: NoClusterFits: no cluster has room",
        ),
        (workload("w", RESERVED, nominatedClusterNames=["east", "west"]), None, "it waits for admission in east, west"),
        (
            workload("w", RESERVED, admissionChecks=[{"name": "prov", "state": "Pending", "message": "no nodes"}]),
            None,
            "its admission checks are not ready: prov: no nodes",
        ),
        (workload("w", RESERVED, condition("Admitted")), MANAGER, ""),
        (workload("w", RESERVED, clusterName="east"), "east", ""),
    ],
)
def test_place_of_a_workload(found, cluster, why):
    assert (job_place.of(found).cluster, job_place.of(found).why) == (cluster, why)


def test_inactive_workload_says_so():
    found = workload("w", WAITS)
    found["spec"]["active"] = False
    assert job_place.of(found).why == "it is not active"


def test_finished_workload_tells_how_it_ended():
    found = job_place.of(workload("w", condition("Finished", message="done"), clusterName="east"))
    assert (found.cluster, found.finished) == ("east", "done")


OWNED = workload("job-train", metadata={"ownerReferences": [{"kind": "Job", "name": "train", "uid": "1"}]})
SERVED = workload(
    "sts-web",
    metadata={
        "annotations": {
            "kueue.x-k8s.io/job-owner-gvk": "apps/v1, Kind=StatefulSet",
            "kueue.x-k8s.io/job-owner-name": "web",
        }
    },
)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("job", "train", ["job-train"]),
        ("Jobs", "train", ["job-train"]),
        ("jobset", "train", []),
        ("job", "other", []),
        ("statefulset", "web", ["sts-web"]),
        ("statefulset", "", []),
    ],
)
def test_workloads_of_a_job(kind, name, expected):
    assert [each["metadata"]["name"] for each in job_place.owned_by([OWNED, SERVED], kind, name)] == expected


def test_former_sizes_of_an_elastic_job_are_left_out():
    old = workload("a", condition("Finished", message="replaced"))
    assert job_place.current([workload("b"), old]) == [workload("b")]
    assert job_place.current([old]) == [old]


def pod(name: str, uid: str, **metadata: object) -> Document:
    return {"metadata": {"name": name, "uid": uid, **metadata}}


def event(title: str, seen: str, **about: str) -> Document:
    return {"metadata": {"name": title}, "involvedObject": about, "lastTimestamp": seen}


def test_pods_name_their_workload_or_are_what_it_is_made_of():
    group = workload("w", metadata={"ownerReferences": [{"kind": "Pod", "name": "b", "uid": "2"}]})
    pods = [
        pod("a", "1", annotations={"kueue.x-k8s.io/workload": "w"}),
        pod("b", "2"),
        pod("c", "3", annotations={"kueue.x-k8s.io/workload": "other"}),
        pod("d", "4", labels={"kueue.x-k8s.io/pod-group-name": "w"}),
    ]
    assert [each["metadata"]["name"] for each in job_traces.pods_of(group, pods)] == ["a", "b", "d"]


def test_events_are_of_the_workload_its_owners_and_its_pods_the_oldest_first():
    owners = [{"kind": "Job", "name": "train", "uid": "j"}]
    mine = workload("w", metadata={"uid": "w1", "ownerReferences": owners})
    events = [
        event("pod", "2026-01-01T00:00:02Z", kind="Pod", name="a", uid="1"),
        event("job", "2026-01-01T00:00:01Z", kind="Job", name="train", uid="j"),
        event("without uid", "2026-01-01T00:00:03Z", kind="Workload", name="w"),
        event("a former job", "2026-01-01T00:00:01Z", kind="Job", name="train", uid="old"),
        event("other", "2026-01-01T00:00:01Z", kind="Pod", name="c", uid="3"),
    ]
    found = job_traces.events_of(mine, [pod("a", "1")], events)
    assert [each["metadata"]["name"] for each in found] == ["job", "pod", "without uid"]

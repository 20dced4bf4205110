"""What every kind that can run on another cluster must keep on the way there and back; nothing here names a kind."""

import copy

import pytest

from worker_agent.api import names
from worker_agent.api.job_kind import Finish
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs import KINDS, pod_group

from .builders import NOW
from .samples import SAMPLES

POLICY = JobPolicy(frameworks=frozenset(KINDS))
DISPATCHED = sorted(name for name, kind in KINDS.items() if kind.is_dispatched)
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "fieldOfTheFuture": [1]}]}}


@pytest.fixture(params=DISPATCHED, ids=lambda framework: framework.replace("/", "-"))
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def job(kind):
    """As a user's object stands on the manager."""
    spec = {"template": TEMPLATE, "leaderWorkerTemplate": {"workerTemplate": TEMPLATE}, **TEMPLATE["spec"]}
    found = copy.deepcopy(SAMPLES[kind.framework].job) if kind.framework in SAMPLES else {"spec": spec}
    metadata = {"name": "web", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 3}
    metadata |= {"labels": {"team": "a"}, "finalizers": ["f"]}
    metadata["annotations"] = {"note": "mine", names.LAST_APPLIED_ANNOTATION: "{}"}
    metadata |= {"ownerReferences": [{"name": "parent", "uid": "p"}], "creationTimestamp": "2026-01-01T00:00:00Z"}
    made = {**found, "apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "metadata": metadata}
    return kind.with_managed_by(made, names.MULTIKUEUE_CONTROLLER) if kind.managed_by_path else made


def test_nothing_of_the_managers_object_goes_along(kind, job):
    there = kind.remote_copy(job, "wl", "hub", POLICY)
    assert set(there["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert there["metadata"]["labels"] == {"team": "a", names.MULTIKUEUE_ORIGIN_LABEL: "hub"}
    assert there["metadata"]["annotations"]["note"] == "mine"
    assert names.LAST_APPLIED_ANNOTATION not in there["metadata"]["annotations"]
    assert "OfTheFuture" in str(there["spec"])
    assert kind.managed_by(there) == ""


def test_the_copy_leads_back_to_its_workload(kind, job):
    annotations = kind.remote_copy(job, "wl", "hub", POLICY)["metadata"]["annotations"]
    assert annotations.get(names.PREBUILT_WORKLOAD) == ("wl" if kind.points_at_workload else None)


def test_a_copy_in_step_is_left_alone(kind, job):
    there = kind.remote_copy(job, "wl", "hub", POLICY)
    assert kind.remote_patch(job, there, "wl", POLICY) is there


def test_a_copy_of_the_copy_says_the_same(kind, job):
    there = kind.remote_copy(job, "wl", "hub", POLICY)
    again = kind.remote_copy(there, "wl", "hub", POLICY)
    assert again["spec"] == there["spec"]


def test_status_comes_home_once(kind, job):
    running = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}], "ofTheFuture": 1}
    there = {**kind.remote_copy(job, "wl", "hub", POLICY), "status": running}
    home = kind.status_back(job, there, NOW)
    if home.status is not None:
        assert kind.status_back({**job, "status": home.status}, there, NOW).status is None


def test_an_idle_status_is_not_of_a_running_job(kind, job):
    if kind.serving:
        return  # its status stays its own
    lost = {**job, "status": kind.idle_status({**job, "status": {"phase": "Running", "active": 3, "state": "ready"}})}
    assert not kind.is_active(lost)


def test_an_idle_group_holds_no_quota():
    kind = pod_group.PodGroup()
    pods = [{"metadata": {"name": name}, "spec": {}, "status": {"phase": "Running"}} for name in ("a", "b")]
    lost = [{**pod, "status": kind.of_member.idle_status(pod)} for pod in kind.members(pod_group.compose(pods))]
    assert kind.is_active(pod_group.compose(pods))
    assert not kind.is_active(pod_group.compose(lost))


@pytest.mark.parametrize("success", [True, False])
def test_an_end_that_only_the_workload_tells_of_reads_as_one(kind, job, success):
    sample = SAMPLES.get(kind.framework)
    if sample is None or sample.succeeded is None or not kind.tells_its_end:
        return
    running = {**job, "status": sample.running}
    ended = kind.ended(running, Finish(success, "as the copy says"), NOW)
    finish = kind.finished(ended)
    assert finish is not None
    assert finish.success is success
    assert not kind.is_active(ended) or kind.framework == "ray.io/rayjob"
    assert ended["spec"] == job["spec"]

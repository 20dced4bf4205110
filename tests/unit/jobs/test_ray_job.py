"""How a RayJob stands, by every word that its operator has for it."""

import pytest

from worker_agent.api import companions, names
from worker_agent.api.document import at
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs import KINDS
from worker_agent.validation import jobs
from worker_agent.validation.jobs import JobSurroundings

KIND = KINDS["ray.io/rayjob"]


def told(deployment, job=""):
    return {"status": {"jobDeploymentStatus": deployment, "jobStatus": job}}


@pytest.mark.parametrize("word", ["Initializing", "Running", "Retrying", "Suspending", "AWordOfTheFuture"])
def test_job_under_way_keeps_its_quota(word):
    assert KIND.finished(told(word)) is None
    assert KIND.is_active(told(word))


@pytest.mark.parametrize(("word", "job", "success"), [("Complete", "SUCCEEDED", True), ("Failed", "FAILED", False)])
def test_ended_job_is_finished(word, job, success):
    assert KIND.finished(told(word, job)).success is success


def test_job_that_its_operator_refuses_takes_no_quota():
    assert KIND.on_hold(told("ValidationFailed"))


# The sizes that Ray's autoscaler gives an elastic one


def group(replicas):
    return {"groupName": "workers", "replicas": replicas, "template": {"spec": {"containers": [{"name": "c"}]}}}


def elastic(suspend=False, autoscaling=True, **annotations):
    cluster = {
        "enableInTreeAutoscaling": autoscaling,
        "headGroupSpec": {"template": {"spec": {"containers": [{"name": "head"}]}}},
        "workerGroupSpecs": [group(1)],
    }
    metadata = {"name": "grows", "namespace": "ns", "uid": "u", "generation": 2}
    metadata["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true", **annotations}
    spec = {"suspend": suspend, "submissionMode": "HTTPMode", "rayClusterSpec": cluster}
    return {"metadata": metadata, "spec": spec, "status": {"rayClusterName": "made"}}


def with_cluster(job, replicas, owner="u", **metadata):
    owners = [{"uid": owner, "controller": True}]
    made = {"metadata": {"name": "made", "generation": 7, "ownerReferences": owners, **metadata}}
    made |= {"kind": "RayCluster", "spec": {"workerGroupSpecs": [group(replicas)]}}
    return companions.joined(job, KIND.companions(job), lambda each: made if each.name == "made" else None)


def workers(job):
    return KIND.templates(job)[1].count


def test_live_cluster_tells_the_sizes():
    assert workers(with_cluster(elastic(), 4)) == 4


@pytest.mark.parametrize(
    "job",
    [
        with_cluster(elastic(suspend=True), 4),
        with_cluster(elastic(autoscaling=False), 4),
        with_cluster(elastic(), 4, owner="of-another"),
        with_cluster(elastic(), 4, deletionTimestamp="2026-01-01T00:00:00Z"),
        with_cluster(elastic(**{names.PREBUILT_WORKLOAD: "sent"}), 4),
        elastic(),
    ],
    ids=["suspended", "not autoscaled", "of another", "going", "sent by a hub", "not made yet"],
)
def test_job_tells_the_sizes_itself(job):
    assert workers(job) == 1
    assert KIND.annotated(job) == job


def test_clusters_generation_names_the_slice():
    job = KIND.annotated(with_cluster(elastic(), 4))
    assert job["metadata"]["annotations"][names.RAY_CLUSTER_GENERATION_ANNOTATION] == "7"
    assert KIND.name_suffix(job, JobPolicy(elastic_jobs=True)) == "2_7"
    assert KIND.annotated(job) is job


def test_cluster_of_a_queued_elastic_job_gates_its_pods():
    parent = {**elastic(), "apiVersion": "ray.io/v1", "kind": "RayJob"}
    parent["metadata"] |= {"labels": {names.QUEUE_NAME_LABEL: "q"}}
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "grows", "uid": "u", "controller": True}
    metadata = {"name": "made", "namespace": "ns", "uid": "c", "ownerReferences": [owner]}
    metadata["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true"}
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata}
    cluster["spec"] = parent["spec"]["rayClusterSpec"]
    policy = JobPolicy(frameworks=frozenset(KINDS), elastic_jobs=True)
    around = JobSurroundings(policy=policy, lookup=lambda api, kind, ns, name: parent if name == "grows" else None)
    kind = KINDS["ray.io/raycluster"]
    made = jobs.default_job(kind, cluster, around)
    for spot in kind.templates(made):
        assert at(made, (*spot.path, "spec", "schedulingGates")) == [{"name": names.ELASTIC_JOB_SCHEDULING_GATE}]
    assert not kind.is_suspended(made)

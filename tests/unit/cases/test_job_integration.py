"""Faults around jobs and their owners: B71, B72, B73. Whole agents on virtual time; the test plays the controllers."""

import asyncio
import json

import pytest

from hub.local.apiserver import bootstrap
from hub.local.simulation.operators import definitions
from tests.integration.simulation.world import START
from tests.unit.cases.cluster import CaseCluster
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOB_SETS, JOBS, RAY_JOBS
from worker_agent.engine import job_ancestors, job_lifecycle
from worker_agent.engine.intents import CreateObject, PatchObject
from worker_agent.engine.job_view import JobView
from worker_agent.jobs import KINDS
from worker_agent.kube.client import PatchType
from worker_agent.validation import jobs
from worker_agent.validation.jobs import JobSurroundings

pytestmark = pytest.mark.looptime

LONG_SECONDS = 10
HELD_BACK = "example.com/held-back"


class KindsCluster(CaseCluster):
    """With the definitions of all kinds, and an agent that serves some."""

    def __init__(self, *frameworks: str) -> None:
        super().__init__(integrations={"frameworks": ["batch/job", *frameworks]})
        bootstrap.fill(self.server.core, definitions.documents(), START)
        self.start_agent()

    async def told(self, resource, name, **status):
        patch = {"status": status}
        await self.client.patch(resource, name, "default", patch, patch_type=PatchType.MERGE, subresource="status")

    async def got(self, resource, name):
        return json.loads(await self.client.get(resource, name, "default"))


# B71: a RayJob that its operator refuses


def ray_job(name, cpu):
    container = {"name": "head", "image": "ray", "resources": {"requests": {"cpu": cpu}}}
    cluster = {"headGroupSpec": {"template": {"spec": {"containers": [container]}}}}
    spec = {"suspend": True, "shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode", "rayClusterSpec": cluster}
    metadata = {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "user-queue"}}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec}


async def with_ray_job_and_waiter(cluster):
    await cluster.queue("4")
    await cluster.client.create(RAY_JOBS, ray_job("r", "4"), "default")
    await cluster.until("r", Admitted="True")
    await cluster.told(RAY_JOBS, "r", jobDeploymentStatus="Initializing")
    await cluster.submit("x", cpu="1")


@pytest.mark.parametrize("word", ["ValidationFailed", "Complete", "Failed"])
async def test_b71_quota_of_a_ray_job_that_will_not_run_on_is_free(word):
    async with KindsCluster("ray.io/rayjob") as cluster:
        await with_ray_job_and_waiter(cluster)
        await cluster.told(RAY_JOBS, "r", jobDeploymentStatus=word)
        await cluster.until("x", Admitted="True")
        await asyncio.sleep(1)
        assert await cluster.cpu_reserved() == "1"


@pytest.mark.parametrize("word", ["Running", "Retrying", "Suspending", "AWordOfTheFuture"])
async def test_b71_quota_of_a_ray_job_that_may_run_is_kept(word):
    async with KindsCluster("ray.io/rayjob") as cluster:
        await with_ray_job_and_waiter(cluster)
        await cluster.told(RAY_JOBS, "r", jobDeploymentStatus=word)
        await asyncio.sleep(LONG_SECONDS)
        assert (await cluster.conditions("x")).get("QuotaReserved", "False") == "False"
        assert await cluster.cpu_reserved() == "4"


async def test_b71_refused_ray_job_is_queued_again_once_its_operator_takes_it():
    async with KindsCluster("ray.io/rayjob") as cluster:
        await with_ray_job_and_waiter(cluster)
        await cluster.told(RAY_JOBS, "r", jobDeploymentStatus="ValidationFailed")
        await cluster.until("x", Admitted="True")
        await cluster.report("x", active=0, succeeded=1, **_complete())
        await cluster.told(RAY_JOBS, "r", jobDeploymentStatus="Suspended")
        await cluster.until("r", Admitted="True")


def _complete():
    mark = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{"type": type_, **mark} for type_ in ("SuccessCriteriaMet", "Complete")]
    return {"conditions": conditions, "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z"}


# B72: an owner that only bears the name of one that is queued

OWNED = {
    "batch/job": {"spec": {"suspend": False, "template": {"spec": {"containers": []}}}},
    "pod": {"spec": {"containers": [{"name": "c"}]}},
    "statefulset": {"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}},
}


def owned_by_the_queued_job_set(framework, uid):
    """An object of its own queue whose controller is named like the queued JobSet of UID u1, and its surroundings."""
    labels = {"kueue.x-k8s.io/queue-name": "user-queue"}
    gvk = {"apiVersion": JOB_SETS.api_version, "kind": JOB_SETS.kind}
    parent = {**gvk, "metadata": {"name": "p", "namespace": "default", "uid": "u1", "labels": labels}}
    resource = KINDS[framework].resource
    owner = {**gvk, "name": "p", "uid": uid, "controller": True}
    metadata = {"name": "c", "namespace": "default", "uid": "c", "labels": labels, "ownerReferences": [owner]}
    child = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **OWNED[framework]}
    found = {"p": parent}
    around = JobSurroundings(
        policy=JobPolicy(frameworks=frozenset(KINDS)),
        namespace_labels={},
        lookup=lambda api, kind, namespace, name: found.get(name),
    )
    return child, around


@pytest.mark.parametrize("framework", OWNED)
def test_b72_child_of_an_earlier_namesake_is_held_by_itself(framework):
    child, around = owned_by_the_queued_job_set(framework, "u0")
    assert jobs.default_job(KINDS[framework], child, around) != child


@pytest.mark.parametrize("framework", OWNED)
def test_b72_child_of_the_queued_owner_is_left_alone(framework):
    child, around = owned_by_the_queued_job_set(framework, "u1")
    assert jobs.default_job(KINDS[framework], child, around) == child


@pytest.mark.parametrize(("uid", "made"), [("u0", ["Workload"]), ("u1", [])])
def test_b72_only_a_job_that_stands_alone_gets_a_workload(uid, made):
    child, around = owned_by_the_queued_job_set("batch/job", uid)
    seen = JobView(
        kind=KINDS["batch/job"],
        key=Key("default", "c"),
        policy=around.policy,
        job=child,
        namespace_labels={},
        ancestry=job_ancestors.search(child, around.lookup, around.policy),
    )
    intents = job_lifecycle.decide_to_rest(seen, START)
    assert [intent.document["kind"] for intent in intents if isinstance(intent, CreateObject)] == made
    assert any(isinstance(intent, PatchObject) and intent.after["spec"]["suspend"] for intent in intents)


# B73: a Job that goes while its pods run


async def with_running_job_and_waiter(cluster):
    await cluster.queue("4")
    await cluster.submit("a", cpu="4")
    await cluster.until("a", Admitted="True")
    await cluster.report("a", active=1, ready=1, startTime="2026-01-01T00:00:00Z")
    await cluster.submit("x", cpu="4")


async def held_back(cluster, finalizers):
    patch = {"metadata": {"finalizers": finalizers}}
    await cluster.client.patch(JOBS, "a", "default", patch, patch_type=PatchType.MERGE)


async def test_b73_quota_of_a_job_that_is_going_is_kept_until_it_is_gone():
    async with KindsCluster() as cluster:
        await with_running_job_and_waiter(cluster)
        await held_back(cluster, [HELD_BACK])
        await cluster.client.delete(JOBS, "a", "default", propagation="Foreground")
        await asyncio.sleep(LONG_SECONDS)
        assert (await cluster.conditions("x")).get("QuotaReserved", "False") == "False"
        await cluster.report("a", active=0, ready=0)
        await held_back(cluster, [])
        await cluster.until("x", Admitted="True")


async def test_b73_quota_of_a_job_that_leaves_its_pods_behind_comes_back():
    async with KindsCluster() as cluster:
        await with_running_job_and_waiter(cluster)
        await cluster.client.delete(JOBS, "a", "default", propagation="Orphan")
        await cluster.until("x", Admitted="True")


async def test_b73_a_new_job_is_never_taken_for_ownerless():
    async with KindsCluster() as cluster:
        await cluster.queue("8")
        for number in range(8):
            await cluster.submit(f"n{number}", cpu="1")
        for number in range(8):
            await cluster.until(f"n{number}", Admitted="True")
            assert (await cluster.conditions(f"n{number}")).get("Finished", "False") == "False"

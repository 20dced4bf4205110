"""Jobs on a simulated cluster: what users of a real one see."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from hub.local.simulation.cluster import Part
from hub.local.simulation.shape import ClusterShape, NodeGroup
from tests.integration.simulation.world import World, complete, is_true
from worker_agent.api.resource_type import EVENTS, JOBS, NODES, PODS
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime


def conditions(job: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(c["type"], c["status"], c["reason"]) for c in job["status"]["conditions"]]


async def test_a_job_runs_to_completion():
    async with World() as world:
        world.simulate()
        await world.create_job(completions=3, parallelism=2)
        job = await world.until_job(complete)
        pods = await world.pods()
    assert asyncio.get_running_loop().time() < 12
    status = job["status"]
    assert {name: status.get(name) for name in ("active", "succeeded", "failed", "ready", "terminating")} == {
        "active": None,
        "succeeded": 3,
        "failed": None,
        "ready": 0,
        "terminating": 0,
    }
    assert status["uncountedTerminatedPods"] == {}
    assert conditions(job) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert Counter(pod["status"]["phase"] for pod in pods) == {"Succeeded": 3}
    assert not any(pod["metadata"].get("finalizers") for pod in pods)


async def test_an_indexed_job_runs_each_index_once():
    async with World() as world:
        world.simulate()
        await world.create_job(completions=10, parallelism=4, completionMode="Indexed")
        job = await world.until_job(complete)
        pods = await world.pods()
    assert (job["status"]["completedIndexes"], job["status"]["succeeded"]) == ("0-9", 10)
    indexes = sorted(int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]) for pod in pods)
    assert indexes == list(range(10))


async def test_nothing_is_written_once_a_job_is_done():
    async with World() as world:
        world.simulate()
        await world.create_job()
        await world.until_job(complete)
        await asyncio.sleep(60)
        before = world.simulated.writes.total()
        await asyncio.sleep(3600)
        assert world.simulated.writes.total() == before


async def test_writes_of_a_small_job_are_few():
    async with World() as world:
        world.simulate()
        await asyncio.sleep(1)
        before = Counter(world.simulated.writes)
        await world.create_job()
        await world.until_job(complete)
        await asyncio.sleep(1)
        spent = Counter(world.simulated.writes) - before
    assert spent["create", "pods", ""] == spent["create", "pods", "binding"] == 1
    assert spent["patch", "pods", "status"] == 2
    assert spent["patch", "pods", ""] == 1
    assert spent["patch", "jobs", "status"] <= 5


async def test_failures_are_repeated_up_to_the_backoff_limit():
    async with World() as world:
        world.simulate()
        await world.create_job(annotations={"fedhub.dev/exit-code": "1", "fedhub.dev/run-seconds": "1"}, backoffLimit=2)
        job = await world.until_job(lambda job: is_true(job, "Failed"))
    # Runs of a second, with 10 and 20 seconds between them.
    assert 30 < asyncio.get_running_loop().time() < 40
    assert job["status"]["failed"] == 3
    assert conditions(job) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]


async def test_a_deadline_ends_what_runs():
    async with World() as world:
        world.simulate()
        await world.create_job(
            annotations={"fedhub.dev/run-seconds": "100"}, activeDeadlineSeconds=10, completions=2, parallelism=2
        )
        job = await world.until_job(lambda job: is_true(job, "Failed"))
        assert conditions(job)[-1] == ("Failed", "True", "DeadlineExceeded")
        assert job["status"]["failed"] == 2
        assert "active" not in job["status"]
        assert await world.pods() == []


async def test_suspending_ends_pods_and_resuming_starts_again():
    async with World() as world:
        world.simulate()
        await world.create_job(annotations={"fedhub.dev/run-seconds": "20"}, completions=2, parallelism=2, suspend=True)
        job = await world.until_job(lambda job: is_true(job, "Suspended"))
        assert "startTime" not in job["status"]
        await world.patch_job({"spec": {"suspend": False}})
        await world.until_job(lambda job: job["status"].get("ready") == 2)
        await world.patch_job({"spec": {"suspend": True}})
        job = await world.until_job(lambda job: is_true(job, "Suspended") and job["status"]["terminating"] == 0)
        assert await world.pods() == []
        assert "active" not in job["status"]
        assert "failed" not in job["status"]
        resumed = asyncio.get_running_loop().time()
        await world.patch_job({"spec": {"suspend": False}})
        job = await world.until_job(complete)
    assert asyncio.get_running_loop().time() - resumed == pytest.approx(20, abs=2)
    assert job["status"]["succeeded"] == 2
    assert conditions(job)[0] == ("Suspended", "False", "JobResumed")


async def test_pods_that_do_not_fit_say_why_and_run_later():
    async with World(ClusterShape((NodeGroup("n", 1, {"cpu": "4"}),))) as world:
        world.simulate()
        await world.create_job("first", cpu="3")
        await world.until_job(lambda job: job["status"].get("ready") == 1, "first")
        await world.create_job("second", cpu="3")
        await world.until_pods(lambda pods: any(unschedulable(pod) for pod in pods))
        waiting = next(pod for pod in await world.pods() if unschedulable(pod))
        assert unschedulable(waiting) == "0/1 nodes are available: 1 Insufficient cpu."
        await world.until_job(complete, "second")


def unschedulable(pod: dict[str, Any]) -> str:
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition["message"])
    return ""


async def test_gated_pods_wait_for_their_gates():
    async with World() as world:
        world.simulate()
        spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "wait"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}
        await world.client.create(PODS, pod, "default")
        await asyncio.sleep(30)
        assert "nodeName" not in (await world.pods())[0]["spec"]
        await world.client.patch(PODS, "p", "default", {"spec": {"schedulingGates": []}}, patch_type=PatchType.MERGE)
        await world.until_pods(lambda pods: pods[0]["status"]["phase"] == "Running")


async def test_deleting_a_job_takes_its_pods_along():
    async with World() as world:
        world.simulate()
        await world.create_job(annotations={"fedhub.dev/run-seconds": "100"}, completions=2, parallelism=2)
        await world.until_job(lambda job: job["status"].get("ready") == 2)
        await world.client.delete(JOBS, "train", "default")
        await world.until_pods(lambda pods: not pods)


async def test_a_deleted_pod_is_replaced():
    async with World() as world:
        world.simulate()
        await world.create_job(annotations={"fedhub.dev/run-seconds": "5"})
        await world.until_job(lambda job: job["status"].get("ready") == 1)
        (pod,) = await world.pods()
        await world.client.delete(PODS, pod["metadata"]["name"], "default")
        job = await world.until_job(complete)
    assert (job["status"]["succeeded"], job["status"]["failed"]) == (1, 1)


async def test_pods_of_a_lost_node_run_elsewhere():
    async with World() as world:
        world.simulate()
        await world.create_job(annotations={"fedhub.dev/run-seconds": "10"})
        await world.until_job(lambda job: job["status"].get("ready") == 1)
        (pod,) = await world.pods()
        await world.client.delete(NODES, pod["spec"]["nodeName"])
        job = await world.until_job(complete)
        assert (job["status"]["succeeded"], job["status"]["failed"]) == (1, 1)


async def test_pods_of_a_silent_node_stand_still():
    async with World(ClusterShape((NodeGroup("n", 1, {"cpu": "4"}),))) as world:
        world.simulate()
        await world.create_job()
        await world.until_job(lambda job: job["status"].get("ready") == 1)
        await world.set_node_ready("n-0", "Unknown")
        await asyncio.sleep(60)
        assert (await world.pods())[0]["status"]["phase"] == "Running"
        await world.set_node_ready("n-0", "True")
        await world.until_job(complete)


async def test_time_to_live_removes_the_job():
    async with World() as world:
        world.simulate()
        await world.create_job(ttlSecondsAfterFinished=30)
        await world.until_job(complete)
        done = asyncio.get_running_loop().time()
        await world.until_pods(lambda pods: not pods)
        assert asyncio.get_running_loop().time() - done == pytest.approx(30, abs=2)
        assert (await world.client.list(JOBS)).items == []


async def test_jobs_of_other_managers_are_left_alone():
    async with World() as world:
        world.simulate()
        await world.create_job(managedBy="kueue.x-k8s.io/multikueue")
        await asyncio.sleep(60)
        assert await world.pods() == []
        assert (await world.job()).get("status", {}) == {}


async def test_restarts_in_place():
    async with World() as world:
        world.simulate()
        await world.create_job(annotations={"fedhub.dev/exit-code": "1"}, restart="OnFailure", backoffLimit=1)
        job = await world.until_job(lambda job: is_true(job, "Failed"))
    assert conditions(job)[-1] == ("Failed", "True", "BackoffLimitExceeded")


async def test_events_tell_the_story():
    async with World() as world:
        world.simulate()
        await world.create_job()
        await world.until_job(complete)
        await asyncio.sleep(1)
        events = (await world.client.list(EVENTS, "default")).items
    told = sorted((json.loads(event) for event in events), key=lambda event: str(event["eventTime"]))
    assert [event["reason"] for event in told] == ["SuccessfulCreate", "Completed"]


async def test_a_control_plane_can_bring_parts_of_its_own():
    async with World() as world:
        world.parts = frozenset({Part.NODES, Part.SCHEDULER})
        world.simulate()
        await world.create_job()
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
        await world.client.create(PODS, pod | {"spec": {"containers": [{"name": "c", "image": "i"}]}}, "default")
        pods = await world.until_pods(lambda pods: bool(pods[0]["spec"].get("nodeName")))
        await asyncio.sleep(30)
        assert [pod["status"]["phase"] for pod in pods] == ["Pending"]
        assert (await world.job()).get("status", {}) == {}


async def test_nodes_follow_the_shape():
    async with World(ClusterShape((NodeGroup("a", 3, {"cpu": "4"}),))) as world:
        world.simulate()
        await asyncio.sleep(1)
        assert len((await world.client.list(NODES)).items) == 3
        await world.kill()
        world.shape = ClusterShape((NodeGroup("a", 1, {"cpu": "8"}, {"zone": "x"}),))
        world.simulate()
        await asyncio.sleep(1)
        (node,) = (await world.client.list(NODES)).items
        assert b'"zone":"x"' in node
        assert b'"cpu":"8"' in node
        writes = world.simulated.writes.total()
        await world.kill()
        world.simulate()
        await asyncio.sleep(60)
        assert world.simulated.writes.total() == writes

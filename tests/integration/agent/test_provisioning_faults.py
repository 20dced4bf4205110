"""What goes wrong between a job and its autoscaler, and that it comes right again; on virtual time."""

import asyncio
import random

import pytest

from tests.integration.agent.provisioning_world import Burst
from tests.integration.agent.test_virtual_time import FAULTS
from tests.integration.simulation.world import complete
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    JOBS,
    POD_TEMPLATES,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
)
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("seed", range(3))
async def test_a_failing_network_and_a_killed_agent_lose_nothing_and_ask_for_nothing_twice(seed):
    chance = random.Random(seed)
    async with Burst(seed=seed, rules={"refuse_attempts": 1}) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queues(cpu="24", retryStrategy={"backoffBaseSeconds": 5})
        cluster.agent_faults.plan.chances = FAULTS
        for number in range(5):
            await cluster.submit_gang(f"j{number}", pods=1, cpu="6", run_seconds=chance.randrange(5))
            await asyncio.sleep(chance.random() * 4)
            await cluster.kill_agent()
            cluster.start_agent()
        jobs = await cluster.until_all_complete()
        cluster.agent_faults.plan.chances = {}

        async def cleaned_up():
            return (
                not await cluster.requests() and not await cluster.templates() and await cluster.nodes() == {"fixed-0"}
            )

        await cluster.until(cleaned_up)
    assert cluster.runs() == {j["metadata"]["uid"]: 1 for j in jobs}


async def test_somebody_elses_request_in_the_way_is_told_and_the_job_goes_on_when_it_is_gone():
    async with Burst() as cluster:
        await cluster.started()
        await cluster.client.delete(PROVISIONING_REQUEST_CONFIGS, "grow")
        await cluster.submit_gang()
        waiting = await cluster.until_check("Pending")
        name = f"{(await cluster.workload('train'))['metadata']['name']}-room-1"
        entry = {"podTemplateRef": {"name": "theirs"}, "count": 1}
        spec = {"provisioningClassName": "theirs.example.com", "podSets": [entry]}
        await cluster.make(PROVISIONING_REQUESTS, name, "default", spec=spec)
        await cluster.make(PROVISIONING_REQUEST_CONFIGS, "grow", spec={"provisioningClassName": "grow.example.com"})

        async def told():
            return "already exists" in (await cluster.check_state())["message"]

        await cluster.until(told)
        assert waiting["state"] == "Pending"
        assert (await cluster.events("FailedCreate"))[0].startswith(f'Error creating ProvisioningRequest "{name}"')
        # By now the next try is minutes away; the deletion brings it about at once.
        await asyncio.sleep(1000)
        await cluster.client.delete(PROVISIONING_REQUESTS, name, "default")
        await cluster.until_check("Ready", seconds=60)


async def test_a_configuration_that_goes_and_comes_back_is_noticed():
    async with Burst(rules={"provision_seconds": 500}) as cluster:
        await cluster.started()
        await cluster.submit_gang()

        async def asked():
            return await cluster.requests()

        await cluster.until(asked)
        await cluster.client.delete(PROVISIONING_REQUEST_CONFIGS, "grow")

        async def inactive():
            return (await cluster.check_state())[
                "message"
            ] == "the check is not active" and not await cluster.requests()

        await cluster.until(inactive)
        (check,) = (await cluster.listed(ADMISSION_CHECKS)).values()
        (active,) = check["status"]["conditions"]
        assert (active["status"], active["reason"]) == ("False", "BadParametersRef")
        assert active["message"] == 'provisioningrequestconfigs.kueue.x-k8s.io "grow" not found'
        await cluster.make(PROVISIONING_REQUEST_CONFIGS, "grow", spec={"provisioningClassName": "grow.example.com"})
        await cluster.until_check("Ready")


async def test_a_request_deleted_by_hand_is_made_again():
    async with Burst(rules={"provision_seconds": 60}) as cluster:
        await cluster.started()
        await cluster.submit_gang()
        (first,) = (await cluster.until(cluster.requests)).values()
        await cluster.client.delete(PROVISIONING_REQUESTS, first["metadata"]["name"], "default")
        await cluster.until_check("Ready")
        (second,) = (await cluster.requests()).values()
        assert second["metadata"]["name"] == first["metadata"]["name"]
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_a_preempted_job_takes_its_request_along_and_asks_afresh():
    async with Burst(rules={"provision_seconds": 100}) as cluster:
        await cluster.started(cpu="12")
        queue = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await cluster.client.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": queue}, patch_type=PatchType.MERGE)
        for name, value in (("low", 1), ("high", 100)):
            await cluster.make(WORKLOAD_PRIORITY_CLASSES, name, value=value)
        await cluster.submit_gang("weak", priority="low")
        (first,) = (await cluster.until(cluster.requests)).values()
        await cluster.submit_gang("strong", priority="high")

        async def strong_alone():
            return [name for name in await cluster.requests() if "strong" in name] == list(await cluster.requests())

        await cluster.until(strong_alone)
        await cluster.until_job(complete, "strong")
        await cluster.until_job(complete, "weak")
        evicted = await cluster.events("EvictedDueToPreempted")
        assert len(evicted) == 1
        made = await cluster.events("ProvisioningRequestCreated")
        name = first["metadata"]["name"]
        assert name.endswith("-room-1")
        assert {told for told in made if "weak" in told} == {f'Created ProvisioningRequest: "{name}"'}


async def test_templates_follow_the_flavor_of_the_new_admission():
    """The name of the next admission's first request is that of the last one's: nothing of it may be left."""
    async with Burst(rules={"accept_seconds": 1000}) as cluster:
        await cluster.started()
        await cluster.make(RESOURCE_FLAVORS, "other", spec={"nodeLabels": {"pool": "other"}})
        await cluster.submit_gang()
        await cluster.until(cluster.requests)
        queue = (await cluster.listed(CLUSTER_QUEUES))["cluster-queue"]
        groups = queue["spec"]["resourceGroups"]
        groups[0]["flavors"][0]["name"] = "other"
        body = {"spec": {"resourceGroups": groups, "stopPolicy": "HoldAndDrain"}}
        await cluster.client.patch(CLUSTER_QUEUES, "cluster-queue", "", body, patch_type=PatchType.MERGE)

        async def drained():
            return not await cluster.requests()

        await cluster.until(drained)
        body = {"spec": {"stopPolicy": "None"}}
        await cluster.client.patch(CLUSTER_QUEUES, "cluster-queue", "", body, patch_type=PatchType.MERGE)
        (request,) = (await cluster.until(cluster.requests)).values()
        name = request["spec"]["podSets"][0]["podTemplateRef"]["name"]

        async def handed_over():
            template = (await cluster.templates()).get(name)
            return (
                template
                if template and template["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"]
                else None
            )

        template = await cluster.until(handed_over)
        assert template["template"]["spec"]["nodeSelector"] == {"pool": "other"}


async def test_a_deleted_job_leaves_nothing_behind():
    async with Burst(rules={"provision_seconds": 1000}) as cluster:
        await cluster.started()
        await cluster.submit_gang()
        await cluster.until(cluster.requests)
        await cluster.client.delete(JOBS, "train", "default")

        async def nothing_left():
            return (
                not await cluster.requests() and not await cluster.templates() and not await cluster.workload("train")
            )

        await cluster.until(nothing_left)


async def test_a_template_lost_before_its_request_was_made_is_made_again():
    async with Burst() as cluster:
        await cluster.started()
        await cluster.client.delete(PROVISIONING_REQUEST_CONFIGS, "grow")
        await cluster.submit_gang()
        await cluster.until_check("Pending")
        workload = await cluster.workload("train")
        name = f"ppt-{workload['metadata']['name']}-room-1-main"
        # As an agent leaves it that is killed between the two creations.
        owner = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "name": workload["metadata"]["name"],
            "uid": workload["metadata"]["uid"],
            "controller": True,
        }
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"pool": "gone"}}
        document = {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": name, "namespace": "default", "ownerReferences": [owner]},
            "template": {"spec": spec},
        }
        await cluster.client.create(POD_TEMPLATES, document, "default")
        await cluster.make(PROVISIONING_REQUEST_CONFIGS, "grow", spec={"provisioningClassName": "grow.example.com"})
        await cluster.until_check("Ready")
        template = (await cluster.templates())[name]
        assert template["template"]["spec"]["nodeSelector"] == {"pool": "burst"}


async def test_an_autoscaler_that_says_nothing_leaves_the_job_waiting():
    async with Burst(rules={"accept_seconds": 100_000}) as cluster:
        await cluster.started()
        await cluster.submit_gang()
        await cluster.until(cluster.requests)
        await asyncio.sleep(3600)
        check = await cluster.check_state()
        assert (check["state"], check["message"]) == ("Pending", "")
        assert (await cluster.job("train"))["spec"]["suspend"] is True
        assert len(await cluster.events("ProvisioningRequestCreated")) == 1

"""Jobs that wait for nodes: agent, ProvisioningRequests and a simulated autoscaler, on virtual time."""

import asyncio

import pytest

from tests.integration.agent.provisioning_world import Burst
from tests.integration.simulation.world import complete
from worker_agent.api import crds
from worker_agent.api.resource_type import ADMISSION_CHECKS, CUSTOM_RESOURCE_DEFINITIONS

pytestmark = pytest.mark.looptime


async def test_nodes_come_for_the_job_and_go_after_it():
    async with Burst() as cluster:
        await cluster.started()
        await cluster.submit_gang(pods=2, cpu="6")
        check = await cluster.until_check("Ready")
        assert await cluster.nodes() == {"fixed-0", "burst-0", "burst-1"}
        (request,) = await cluster.requests()
        annotations = check["podSetUpdates"][0]["annotations"]
        assert annotations["autoscaling.x-k8s.io/consume-provisioning-request"] == request
        await cluster.until_job(complete)
        assert {completion.node for completion in cluster.completions} == {"burst-0", "burst-1"}

        async def scaled_down():
            return await cluster.nodes() == {"fixed-0"} and not await cluster.requests()

        await cluster.until(scaled_down)
        assert await cluster.events("ProvisioningRequestCreated") == [f'Created ProvisioningRequest: "{request}"']


async def test_templates_belong_to_the_request_and_go_with_it():
    async with Burst() as cluster:
        await cluster.started()
        await cluster.submit_gang()
        await cluster.until_check("Ready")
        (request,) = (await cluster.requests()).values()
        (template,) = (await cluster.templates()).values()
        (owner,) = template["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("ProvisioningRequest", request["metadata"]["uid"])
        assert template["template"]["spec"]["nodeSelector"] == {"pool": "burst"}
        await cluster.until_job(complete)

        async def gone():
            return not await cluster.templates()

        await cluster.until(gone)


async def test_refused_attempts_are_retried_later_and_later():
    strategy = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
    async with Burst(rules={"refuse_attempts": 2}) as cluster:
        await cluster.started(retryStrategy=strategy)
        await cluster.submit_gang()
        await cluster.until_check("Ready")
        assert 60 + 120 < asyncio.get_running_loop().time() < 60 + 120 + 30
        evictions = await cluster.events("EvictedDueToAdmissionCheck")
        assert evictions[0].startswith('Evicted due to AdmissionCheck in Retry state: "room" (Retrying after failure: ')
        (request,) = await cluster.requests()
        assert request.endswith("-room-3")
        assert (await cluster.check_state())["retryCount"] == 2


async def test_job_that_can_never_fit_is_deactivated_after_its_retries():
    strategy = {"backoffLimitCount": 1, "backoffBaseSeconds": 10, "backoffMaxSeconds": 1800}
    async with Burst() as cluster:
        await cluster.started(retryStrategy=strategy)
        await cluster.submit_gang(pods=4, cpu="6")
        told = await cluster.until_condition("train", "Evicted", "DeactivatedDueToAdmissionCheck")
        assert "room was found for 3 of 4 pods" in told["message"]
        assert await cluster.requests() == {}
        assert await cluster.nodes() == {"fixed-0"}


async def test_topology_is_found_after_the_nodes_have_come():
    async with Burst() as cluster:
        await cluster.started(topology=True)
        await cluster.submit_gang(pods=2, cpu="6", topology="rack")
        await cluster.until_condition("train", "Admitted", "PendingDelayedTopologyRequests")
        await cluster.until_condition("train", "Admitted", "Admitted")
        (assignment,) = (await cluster.workload("train"))["status"]["admission"]["podSetAssignments"]
        assert assignment["delayedTopologyRequest"] == "Ready"
        await cluster.until_job(complete)
        assert {completion.node for completion in cluster.completions} == {"burst-0", "burst-1"}


async def test_topology_that_the_new_nodes_cannot_give_ends_with_the_booking():
    strategy = {"backoffLimitCount": 1, "backoffBaseSeconds": 5, "backoffMaxSeconds": 1800}
    async with Burst(rules={"booking_seconds": 120}) as cluster:
        await cluster.started(topology=True, retryStrategy=strategy)
        await cluster.submit_gang(pods=2, cpu="6", topology="kubernetes.io/hostname")
        await cluster.until_check("Ready")
        check = await cluster.until_check("Retry")
        assert check["message"].startswith("Retrying after booking expired")
        told = await cluster.until_condition("train", "Evicted", "DeactivatedDueToAdmissionCheck")
        assert "was booked for 120 s" in told["message"]
        assert await cluster.events("SecondPassFailed")


async def test_revoked_capacity_stops_a_running_job():
    async with Burst() as cluster:
        await cluster.started()
        await cluster.submit_gang(run_seconds=600)
        await cluster.until_condition("train", "Admitted", "Admitted")
        (request,) = await cluster.requests()
        await cluster.answer(request, "CapacityRevoked", "spot nodes are taken back")
        told = await cluster.until_condition("train", "Evicted", "DeactivatedDueToAdmissionCheck")
        assert "spot nodes are taken back" in told["message"]
        assert (await cluster.workload("train"))["spec"]["active"] is False


async def test_expired_booking_leaves_a_running_job_alone():
    async with Burst(rules={"booking_seconds": 60}) as cluster:
        await cluster.started()
        await cluster.submit_gang(run_seconds=300)
        await cluster.until_job(complete)
    assert len({completion.uid for completion in cluster.completions}) == 2


@pytest.mark.parametrize("seed", range(3))
async def test_agent_killed_at_any_moment_makes_one_request_per_attempt(seed):
    async with Burst(seed=seed, rules={"refuse_attempts": 1}) as cluster:
        await cluster.started(retryStrategy={"backoffBaseSeconds": 5})
        await cluster.submit_gang()
        names: set[str] = set()

        async def killed_until_ready():
            names.update(await cluster.requests())
            await cluster.kill_agent()
            cluster.start_agent()
            await asyncio.sleep(cluster.clock.random() * 3)
            return (await cluster.check_state()).get("state") == "Ready"

        await cluster.until(killed_until_ready)
        await cluster.until_job(complete)
    attempts = sorted(name.rpartition("-")[2] for name in names)
    assert attempts == ["1", "2"]


async def test_check_is_inactive_until_an_autoscaler_is_installed():
    async with Burst() as cluster:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, "provisioningrequests.autoscaling.x-k8s.io")
        await cluster.started()

        async def condition(status):
            (check,) = (await cluster.listed(ADMISSION_CHECKS)).values()
            found = (check.get("status") or {}).get("conditions") or ()
            return next((c for c in found if c["status"] == status), None)

        inactive = await cluster.until(lambda: condition("False"))
        assert inactive["reason"] == "ProvisioningRequestsNotServed"
        await cluster.submit_gang()
        await cluster.client.create(CUSTOM_RESOURCE_DEFINITIONS, crds.with_autoscaler()[-1])
        await cluster.until_check("Ready")
        assert await condition("True")


async def test_changed_configuration_replaces_the_request():
    async with Burst(rules={"provision_seconds": 100}) as cluster:
        await cluster.started(parameters={"spot": "false"})
        await cluster.submit_gang()

        async def accepted():
            return [r for r in (await cluster.requests()).values() if r.get("status", {}).get("conditions")]

        (first,) = await cluster.until(accepted)
        await cluster.configure(parameters={"spot": "true"})
        await cluster.until_check("Ready")
        (second,) = (await cluster.requests()).values()
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        assert second["spec"]["parameters"] == {"spot": "true"}


async def test_quiet_cluster_costs_no_writes():
    async with Burst() as cluster:
        await cluster.started()
        await cluster.submit_gang(run_seconds=3000)
        await cluster.until_condition("train", "PodsReady", "Started")
        await asyncio.sleep(60)
        before = dict(cluster.agent.client.writes)
        await asyncio.sleep(60)
        assert dict(cluster.agent.client.writes) == before

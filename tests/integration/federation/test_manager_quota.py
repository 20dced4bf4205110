"""With quota automation a manager's queue has the quota that its workers have for it."""

from tests.integration.federation.world import Federation, queues, running, until
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, MULTIKUEUE_CONFIGS

CONDITION = "MultiKueueManagerQuotaAutomation"


async def queue(world: Federation) -> Document:
    found = await world.manager.get(CLUSTER_QUEUES, "cq")
    assert found is not None
    return found


async def quota(world: Federation) -> str:
    """Nominal quota of the one flavor, with its limits."""
    (resource,) = value_at(await queue(world), "spec.resourceGroups", [])[0]["flavors"][0]["resources"]
    limits = [resource[name] for name in ("borrowingLimit", "lendingLimit") if name in resource]
    return " ".join(str(amount) for amount in (resource["nominalQuota"], *limits))


async def told(world: Federation) -> tuple[str, str] | None:
    found = [c for c in value_at(await queue(world), "status.conditions", []) if c["type"] == CONDITION]
    return (found[0]["status"], found[0]["reason"]) if found else None


async def until_quota(world: Federation, wanted: str) -> None:
    async def reached() -> bool:
        return await quota(world) == wanted

    await until(reached, f"the quota is {wanted}")


async def until_told(world: Federation, wanted: tuple[str, str] | None) -> None:
    async def reached() -> bool:
        return await told(world) == wanted

    await until(reached, f"the condition is {wanted}")


async def ask_for_it(world: Federation) -> None:
    await world.manager.patch(MULTIKUEUE_CONFIGS, "all", {"spec": {"quotaManagement": "Automated"}})


def with_quota(cpu: int) -> Document:
    return {"spec": {"resourceGroups": queues(cpu=cpu)[3]["spec"]["resourceGroups"]}}


async def test_the_quota_follows_the_workers_and_shrinks_while_one_is_out_of_contact():
    async with running(start_hub=False, east=4, west=8) as world:
        await world.manager.patch(CLUSTER_QUEUES, "cq", with_quota(1))
        world.start_hub(quota_automation=True)
        await until_told(world, ("False", "NotRequested"))
        assert await quota(world) == "1"
        await ask_for_it(world)
        await until_quota(world, "12")
        await until_told(world, ("True", "QuotaAutomated"))
        await world.workers["west"].patch(CLUSTER_QUEUES, "cq", with_quota(10))
        await until_quota(world, "14")
        await world.workers["east"].client.delete(LOCAL_QUEUES, "lq", "ns")
        await until_quota(world, "10")
        world.workers["west"].switch.cut.set()
        await until_quota(world, "0")


async def test_without_multikueue_the_queue_is_left_to_its_owner():
    async with running(start_hub=False, east=4) as world:
        await ask_for_it(world)
        world.start_hub(quota_automation=True)
        await until_told(world, ("True", "QuotaAutomated"))
        await world.manager.patch(
            CLUSTER_QUEUES, "cq", {"spec": {"admissionChecksStrategy": None, **with_quota(7)["spec"]}}
        )
        await until_told(world, None)
        assert await quota(world) == "7"


async def test_nothing_is_written_while_nothing_changes():
    async with running(start_hub=False, east=4) as world:
        await ask_for_it(world)
        hub = world.start_hub(quota_automation=True)
        await until_told(world, ("True", "QuotaAutomated"))
        await until(lambda: hub.quotas is not None and hub.quotas.controller.idle, "all is decided")
        before = (await queue(world))["metadata"]["managedFields"]
        await world.manager.patch(CLUSTER_QUEUES, "cq", {"metadata": {"labels": {"looked": "at"}}})
        hub.quotas.controller.enqueue("cq")
        await until(lambda: hub.quotas.controller.idle, "it was looked at again")
        after = (await queue(world))["metadata"]["managedFields"]
        mine = "kueue.x-k8s.io/multikueue"
        assert [each for each in after if each["manager"] == mine] == [
            each for each in before if each["manager"] == mine
        ]

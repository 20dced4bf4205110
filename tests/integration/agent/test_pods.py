"""Plain pods in the running agent: held until there is room, let go together, deleted when they are preempted."""

import pytest

from tests.integration.agent.world import world
from worker_agent.api import names
from worker_agent.api.resource_type import LEASES, PODS, STATEFUL_SETS, WORKLOADS
from worker_agent.engine import fencing, workload_status

GATE = {"name": "kueue.x-k8s.io/admission"}
MARKED = {"kueue.x-k8s.io/managed": "true"}


@pytest.fixture
async def cluster(tmp_path):
    async with world(tmp_path) as made:
        await made.start_agent(integrations={"frameworks": ["pod", "statefulset"]})
        await made.queue(cpu="4")
        yield made


def pod(name, cpu="1", group="", total=0, owner=None):
    labels = {"kueue.x-k8s.io/queue-name": "user-queue"}
    annotations = {}
    if group:
        annotations = {
            "kueue.x-k8s.io/pod-group-name": group,
            "kueue.x-k8s.io/pod-group-total-count": str(total),
        }
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations}
    if owner is not None:
        metadata |= {"ownerReferences": [owner], "labels": {}}
        metadata["annotations"] = {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


async def until_let_go(cluster, *pod_names):
    async def free():
        pods = {each["metadata"]["name"]: each for each in await cluster.all(PODS, "default")}
        gated = [name for name in pod_names if GATE in (pods[name]["spec"].get("schedulingGates") or ())]
        return not gated

    await cluster.until(free, f"pods {pod_names} are let go")


async def until_workload(cluster, name):
    async def there():
        found = {each["metadata"]["name"]: each for each in await cluster.all(WORKLOADS, "default")}
        return found.get(name)

    return await cluster.until(there, f"workload {name} exists")


async def test_pod_is_held_queued_and_let_go(cluster):
    made = await cluster.create(PODS, pod("alone"))
    assert GATE in made["spec"]["schedulingGates"]
    assert made["metadata"]["labels"].items() >= MARKED.items()
    await until_let_go(cluster, "alone")


async def test_pod_without_room_stays_held(cluster):
    await cluster.create(PODS, pod("large", cpu="5"))

    async def refused():
        workloads = await cluster.all(WORKLOADS, "default")
        return [c for w in workloads for c in (w.get("status") or {}).get("conditions") or () if c["status"] == "False"]

    await cluster.until(refused, "the pod is told that it has to wait")
    assert GATE in (await cluster.get(PODS, "large", "default"))["spec"]["schedulingGates"]


async def test_group_waits_for_all_its_pods_and_starts_together(cluster):
    await cluster.create(PODS, pod("one", group="team", total=2))

    async def told():
        return await cluster.events("ErrWorkloadCompose")

    await cluster.until(told, "an event says that pods are missing")
    assert await cluster.all(WORKLOADS, "default") == []
    await cluster.create(PODS, pod("two", group="team", total=2))
    await until_let_go(cluster, "one", "two")
    workload = await until_workload(cluster, "team")
    assert sorted(owner["name"] for owner in workload["metadata"]["ownerReferences"]) == ["one", "two"]
    assert [each["count"] for each in workload["spec"]["podSets"]] == [2]


async def test_group_that_an_earlier_leader_of_a_hub_sent_is_not_let_go(cluster):
    """DESIGN 7, fencing: its later leader may have given the group to another cluster."""
    lease = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {
            "name": fencing.lease_name("hub-a"),
            "namespace": "kueue-system",
            "labels": {names.HUB_LEASE_LABEL: "hub-a"},
        },
        "spec": {"holderIdentity": "hub", "leaseDurationSeconds": 3600, "leaseTransitions": 2},
    }
    await cluster.create(LEASES, lease)
    for name, term in (("one", "2"), ("two", "1")):
        sent = pod(name, group="team", total=2)
        sent["metadata"]["labels"][names.MULTIKUEUE_ORIGIN_LABEL] = "hub-a"
        sent["metadata"]["annotations"][names.DISPATCH_TERM_ANNOTATION] = term
        await cluster.create(PODS, sent)

    async def admitted():
        workloads = await cluster.all(WORKLOADS, "default")
        return any(workload_status.is_true(each, names.ADMITTED) for each in workloads)

    await cluster.until(admitted, "the group is admitted")
    await cluster.create(PODS, pod("alone"))
    await until_let_go(cluster, "alone")
    for name in ("one", "two"):
        assert GATE in (await cluster.get(PODS, name, "default"))["spec"]["schedulingGates"]
    await cluster.patch(PODS, "two", "default", {"metadata": {"annotations": {names.DISPATCH_TERM_ANNOTATION: "2"}}})
    await until_let_go(cluster, "one", "two")


async def test_excess_pod_of_a_group_is_deleted(cluster):
    for name in ("one", "two"):
        await cluster.create(PODS, pod(name, group="team", total=2))
    await until_let_go(cluster, "one", "two")
    await cluster.create(PODS, pod("three", group="team", total=2))

    async def gone():
        return sorted(each["metadata"]["name"] for each in await cluster.all(PODS, "default")) == ["one", "two"]

    await cluster.until(gone, "the third pod is deleted")
    await cluster.until(lambda: cluster.events("ExcessPodDeleted"), "the event tells of it")


async def test_finished_group_frees_its_room(cluster):
    for name in ("one", "two"):
        await cluster.create(PODS, pod(name, cpu="2", group="team", total=2))
    await until_let_go(cluster, "one", "two")
    await cluster.create(PODS, pod("next", cpu="4"))
    for name in ("one", "two"):
        await cluster.patch(PODS, name, "default", {"status": {"phase": "Succeeded"}}, "status")
    await until_let_go(cluster, "next")


async def test_deactivated_group_loses_its_pods(cluster):
    for name in ("one", "two"):
        await cluster.create(PODS, pod(name, group="team", total=2))
    await until_let_go(cluster, "one", "two")
    await cluster.patch(WORKLOADS, "team", "default", {"spec": {"active": False}})

    async def going():
        pods = await cluster.all(PODS, "default")
        return all(each["metadata"].get("deletionTimestamp") for each in pods)

    await cluster.until(going, "the pods of the group are deleted")


async def test_stateful_set_has_one_workload_for_its_pods(cluster):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"] | {"restartPolicy": "Always"}}
    spec = {"replicas": 2, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = await cluster.create(
        STATEFUL_SETS,
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {
                "name": "web",
                "namespace": "default",
                "labels": {"kueue.x-k8s.io/queue-name": "user-queue"},
            },
            "spec": spec,
        },
    )
    owner = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "web",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    assert annotations["kueue.x-k8s.io/pod-suspending-parent"] == "statefulset"
    for name in ("web-0", "web-1"):
        await cluster.create(PODS, pod(name, owner=owner))
    await until_let_go(cluster, "web-0", "web-1")
    (workload,) = await cluster.all(WORKLOADS, "default")
    assert workload["metadata"]["annotations"]["kueue.x-k8s.io/job-owner-name"] == "web"
    assert [each["count"] for each in workload["spec"]["podSets"]] == [2]

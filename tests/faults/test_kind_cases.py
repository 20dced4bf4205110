"""Reports of users about kinds other than Jobs, and about checks beside MultiKueue's: the cases' names are theirs."""

import asyncio
from itertools import pairwise

import pytest

from tests.faults.manifests import submitted
from tests.integration.federation.virtual_world import MANAGER, VirtualWorld, play
from tests.integration.federation.world import federation, node, queues
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import ADMISSION_CHECKS, JOB_SETS, JOBS, PODS, WORKLOADS
from worker_agent.api.timestamps import rfc3339
from worker_agent.controllers.queue_controllers import REFRESH_SECONDS
from worker_agent.kube.client import PatchType

WORKERS = ("w1", "w2")
GATE = {"name": "kueue.x-k8s.io/admission"}
KUEUE = "kueue.x-k8s.io"
STORES = {
    "jobs": "batch/jobs",
    "pods": "/pods",
    "jobsets": "jobset.x-k8s.io/jobsets",
    "workloads": f"{KUEUE}/workloads",
}
LOST = {"multi_kueue": {"worker_lost_timeout": "60s", "dispatcher_name": f"{KUEUE}/multikueue-dispatcher-all-at-once"}}


def world(*frameworks: str, settings: Document | None = None, manager: list[Document] | None = None) -> VirtualWorld:
    """A manager of 10 cpus and two workers of 5."""
    clusters = {MANAGER: manager or [*queues(cpu=10, checks=["mk"]), *federation(*WORKERS)]}
    clusters |= {name: [*queues(cpu=5), node(cpu=5)] for name in WORKERS}
    return VirtualWorld(clusters, {"integrations": {"frameworks": [*frameworks]}, **(settings or {})}, job_kinds=True)


def objects(made: VirtualWorld, cluster: str, kind: str) -> list[Document]:
    return made.objects(cluster, STORES[kind])


def only(made: VirtualWorld, cluster: str, kind: str) -> Document:
    (found,) = objects(made, cluster, kind)
    return found


def condition(document: Document, type_: str) -> tuple[str, str]:
    found = [c for c in value_at(document, "status.conditions", []) if c["type"] == type_]
    return (found[0]["status"], found[0].get("reason", "")) if found else ("", "")


def checks(made: VirtualWorld) -> dict[str, str]:
    states = value_at(only(made, MANAGER, "workloads"), "status.admissionChecks", [])
    return {each["name"]: each["state"] for each in states}


async def set_check(made: VirtualWorld, check: str, **fields: object) -> None:
    """What the check's own controller would write."""
    workload = only(made, MANAGER, "workloads")
    states = value_at(workload, "status.admissionChecks", [])
    changed = [{**each, "message": "by test", **fields} if each["name"] == check else each for each in states]
    body = {"status": {"admissionChecks": changed}}
    await made.patch(MANAGER, WORKLOADS, workload["metadata"]["name"], body, "status")


# A pod (B18)


def pod() -> Document:
    """As the webhook leaves it."""
    labels = {f"{KUEUE}/queue-name": "lq", f"{KUEUE}/managed": "true"}
    containers = [{"name": "c", "image": "train", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "solo", "namespace": "ns", "labels": labels, "finalizers": [f"{KUEUE}/managed"]},
        "spec": {"restartPolicy": "Never", "schedulingGates": [GATE], "containers": containers},
    }


def test_a_pod_stays_held_on_the_manager_and_tells_of_its_namesake_once_that_has_a_node() -> None:
    async def story(made: VirtualWorld) -> None:
        await made.create(MANAGER, pod())
        await asyncio.sleep(10)
        (place,) = [name for name in WORKERS if objects(made, name, "pods")]
        assert not value_at(only(made, place, "pods"), "spec.schedulingGates", [])
        assert checks(made) == {"mk": "Ready"}
        unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        await made.patch(place, PODS, "solo", {"status": {"conditions": [unschedulable]}}, "status")
        await asyncio.sleep(5)
        assert condition(only(made, MANAGER, "pods"), "PodScheduled") == ("False", "SchedulingGated")
        running = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}
        await made.patch(place, PODS, "solo", {"status": running}, "status")
        await asyncio.sleep(5)
        here = only(made, MANAGER, "pods")
        assert condition(here, "PodScheduled")[0] == "True"
        assert here["status"]["phase"] == "Running"
        assert here["spec"]["schedulingGates"] == [GATE]
        assert checks(made) == {"mk": "Ready"}

    play(world("batch/job", "pod"), story)


# A JobSet of two parts (B39)


def job_set() -> Document:
    def part(name: str, pods: int) -> Document:
        containers = [{"name": "c", "image": "train", "resources": {"requests": {"cpu": "1"}}}]
        template = {"spec": {"restartPolicy": "Never", "containers": containers}}
        inner = {"parallelism": pods, "completions": pods, "template": template}
        return {"name": name, "replicas": 1, "template": {"spec": inner}}

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": "ns", "labels": {f"{KUEUE}/queue-name": "lq"}},
        "spec": {
            "suspend": True,
            "managedBy": f"{KUEUE}/multikueue",
            "replicatedJobs": [part("driver", 1), part("worker", 3)],
        },
    }


@pytest.mark.parametrize("active", [0, 1])
def test_a_job_set_whose_cluster_is_lost_goes_on_elsewhere_with_all_its_parts(active: int) -> None:
    async def story(made: VirtualWorld) -> None:
        await made.create(MANAGER, job_set())
        await asyncio.sleep(10)
        (place,) = [name for name in WORKERS if objects(made, name, "jobsets")]
        (other,) = [name for name in WORKERS if name != place]
        parts = [{"name": name, "active": active, "ready": active} for name in ("driver", "worker")]
        await made.patch(place, JOB_SETS, "set", {"status": {"replicatedJobsStatus": parts}}, "status")
        await asyncio.sleep(5)
        made.lines[place].cut()
        await asyncio.sleep(180)
        copy = only(made, other, "workloads")
        wanted = [("driver", 1), ("worker", 3)]
        assert [(each["name"], each["count"]) for each in copy["spec"]["podSets"]] == wanted
        local = only(made, MANAGER, "workloads")
        assert [(each["name"], each["count"]) for each in local["spec"]["podSets"]] == wanted
        assigned = value_at(copy, "status.admission.podSetAssignments", [])
        assert [each["resourceUsage"]["cpu"] for each in assigned] == ["1", "3"]
        assert value_at(only(made, other, "jobsets"), "spec.suspend", True) is False
        assert created(made, other, "jobsets") == 1

    play(world("batch/job", "jobset.x-k8s.io/jobset", settings=LOST), story)


def created(made: VirtualWorld, cluster: str, kind: str) -> int:
    commits = [event for _, place, event in made.commits if place == cluster and event.store == STORES[kind]]
    return sum(event.old is None for event in commits)


# Checks beside MultiKueue's


def manager_with(check: str, *flavors: str) -> list[Document]:
    """Its queue has flavors ``spot``, for which it has the check too (all where none are named), and ``reserved``."""
    documents = [*queues(cpu=10, checks=["mk"]), *federation(*WORKERS)]
    documents += [{**documents[2], "metadata": {"name": name}} for name in ("spot", "reserved")]
    documents.append(
        {
            "apiVersion": f"{KUEUE}/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": check},
            "spec": {"controllerName": "example.com/by-hand"},
        }
    )
    for each in documents:
        if each["kind"] == "ClusterQueue":
            quotas = [{"name": "cpu", "nominalQuota": 5}]
            both = [{"name": name, "resources": quotas} for name in ("spot", "reserved")]
            each["spec"]["resourceGroups"] = [{"coveredResources": ["cpu"], "flavors": both}]
            rule: Document = {"name": check, **({"onFlavors": [*flavors]} if flavors else {})}
            each["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "mk"}, rule]}
    return documents


async def activate(made: VirtualWorld, check: str) -> None:
    """What the check's own controller says of it."""
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "by test"}
    body = {"status": {"conditions": [{**active, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    client = made.clients[MANAGER]
    await client.patch(ADMISSION_CHECKS, check, "", body, patch_type=PatchType.MERGE, subresource="status")


async def runs_with(made: VirtualWorld, check: str) -> tuple[str, str]:
    """A job that runs after the check said Ready; its cluster and the other one."""
    await activate(made, check)
    await made.create(MANAGER, submitted("train", cpu=1, seconds=10_000, priority=0))
    await asyncio.sleep(10)
    await set_check(made, check, state="Ready")
    await asyncio.sleep(10)
    (place,) = [name for name in WORKERS if made.running_jobs(name)]
    return place, next(name for name in WORKERS if name != place)


PODS_READY = {
    "wait_for_pods_ready": {
        "timeout": "300s",
        "recovery_timeout": "5s",
        "requeuing_strategy": {"backoff_base_seconds": 600, "backoff_max_seconds": 3600},
    }
}


@pytest.mark.parametrize("active", [0, 1])
def test_a_copy_behind_an_outage_goes_while_its_workload_waits_to_be_queued_again(active: int) -> None:
    async def story(made: VirtualWorld) -> None:
        place, _ = await runs_with(made, "prov")
        made.lines[place].cut()
        await made.patch(MANAGER, JOBS, "train", {"status": {"active": active, "ready": 0}}, "status")
        await asyncio.sleep(120)
        waiting = only(made, MANAGER, "workloads")
        assert condition(waiting, "QuotaReserved")[0] == "False"
        assert "mk" in checks(made)
        made.lines[place].heal()
        await asyncio.sleep(200)
        assert objects(made, place, "workloads") == []
        assert objects(made, place, "jobs") == []
        assert "mk" in checks(made)
        requeued_at = value_at(only(made, MANAGER, "workloads"), "status.requeueState.requeueAt", "")
        assert requeued_at > rfc3339(made.clock.now())

    settings = {**LOST, **PODS_READY}
    play(world("batch/job", settings=settings, manager=manager_with("prov", "spot")), story)


@pytest.mark.parametrize("active", [0, 1])
def test_a_check_that_rejects_an_evicted_workload_ends_it(active: int) -> None:
    async def story(made: VirtualWorld) -> None:
        await runs_with(made, "ext")
        await made.patch(MANAGER, JOBS, "train", {"status": {"active": active, "ready": active}}, "status")
        await set_check(made, "mk", state="Retry")
        await asyncio.sleep(0.5)
        assert condition(only(made, MANAGER, "workloads"), "Evicted")[0] == "True"
        await set_check(made, "mk", state="Pending")
        await set_check(made, "ext", state="Rejected")
        await asyncio.sleep(60)
        ended = only(made, MANAGER, "workloads")
        assert condition(ended, "Admitted")[0] == "False"
        assert condition(ended, "QuotaReserved")[0] == "False"
        assert ended["spec"]["active"] is False
        assert not value_at(ended, "status.admission", None)
        assert [name for name in WORKERS if objects(made, name, "workloads") or objects(made, name, "jobs")] == []
        assert longest_admitted_and_evicted(made) < 5

    play(world("batch/job", manager=manager_with("ext")), story)


def longest_admitted_and_evicted(made: VirtualWorld) -> float:
    """Seconds for which the manager's Workload said both of itself."""
    longest, since = 0.0, None
    for at, cluster, event in made.commits:
        if cluster != MANAGER or event.store != STORES["workloads"] or event.new is None:
            continue
        document = event.new.document()
        both = all(condition(document, type_)[0] == "True" for type_ in (names.ADMITTED, names.EVICTED))
        since = (at if since is None else since) if both else None
        longest = max(longest, at - since if since is not None else 0.0)
    return longest


# An elastic job (B19)


def test_an_elastic_job_grows_where_it_runs() -> None:
    async def story(made: VirtualWorld) -> None:
        document = submitted("grows", cpu=1, seconds=10_000, priority=0)
        document["spec"]["completions"] = 3
        document["metadata"]["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true"}
        document["spec"]["template"]["spec"]["schedulingGates"] = [{"name": names.ELASTIC_JOB_SCHEDULING_GATE}]
        await made.create(MANAGER, document)
        await asyncio.sleep(10)
        (place,) = [name for name in WORKERS if made.running_jobs(name)]
        before = only(made, place, "jobs")
        await made.patch(MANAGER, JOBS, "grows", {"spec": {"parallelism": 3}})
        await asyncio.sleep(30)
        after = only(made, place, "jobs")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert (after["spec"]["parallelism"], after["spec"].get("suspend", False)) == (3, False)
        slices = objects(made, MANAGER, "workloads")
        assert sorted(condition(each, "Finished")[1] for each in slices) == ["", "WorkloadSliceReplaced"]
        assert used(made)[-1][1] == 3
        # Both slices have quota for a moment; a status that told of it is mended with its next refresh.
        longest = REFRESH_SECONDS + 0.1
        assert all(later - at < longest for (at, cpus), (later, _) in pairwise(used(made)) if cpus > 3)

    gates = {"feature_gates": {"ElasticJobsViaWorkloadSlices": True}}
    play(world("batch/job", settings=gates), story)


def used(made: VirtualWorld) -> list[tuple[float, int]]:
    """What the manager's queue told of as reserved, and when. Both slices count until the end of the former is seen."""
    told = []
    for at, cluster, event in made.commits:
        if cluster == MANAGER and event.store == f"{KUEUE}/clusterqueues" and event.new is not None:
            for flavor in value_at(event.new.document(), "status.flavorsReservation", []):
                told += [(at, int(resource["total"])) for resource in flavor["resources"]]
    return told

"""Tenants of the manager share by weight what the workers' own users leave them, on virtual time."""

import asyncio
from collections import Counter

import pytest

from tests.faults.players import RUN_SECONDS
from tests.integration.federation.virtual_world import MANAGER, VirtualWorld, play
from tests.integration.federation.world import API, SYSTEM, federation, job, node
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOBS
from worker_agent.controllers import queue_controllers

pytestmark = pytest.mark.embedded  # over servers in this process alone, whatever sort of cluster was asked for
WORKERS = ("w1", "w2", "w3")
CPU = 8
LOCAL_CPU = 4
"""Of w1's own users."""
FAIR = {"fair_sharing": {"preemption_strategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}
RECLAIM = {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"}


def groups(cpu: int) -> list[Document]:
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]


def plain(kind: str, name: str, spec: Document | None = None, namespace: str = "", **metadata: object) -> Document:
    version = "v1" if kind == "Namespace" else API
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **place, **metadata}, "spec": spec or {}}


def queue(name: str, cpu: int, cohort: str, **spec: object) -> Document:
    return plain(
        "ClusterQueue",
        name,
        {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": groups(cpu), "preemption": RECLAIM, **spec},
    )


def base() -> list[Document]:
    return [plain("Namespace", "ns"), plain("Namespace", SYSTEM), plain("ResourceFlavor", "default")]


def local_queue(name: str, leads_to: str) -> Document:
    return plain("LocalQueue", name, {"clusterQueue": leads_to}, "ns")


def manager(spans: bool) -> list[Document]:
    """Two tenants without quota of their own in a cohort that spans the workers, weights 2 and 1."""
    annotations = {"fedhub.dev/spans": "all"} if spans else {}
    checks = {"admissionChecks": [{"name": "mk"}]}
    tenants = [
        queue(f"tenant-{name}", 0, "tenants", admissionChecksStrategy=checks, fairSharing={"weight": weight})
        for name, weight in (("a", 2), ("b", 1))
    ]
    cohort = plain("Cohort", "tenants", {"resourceGroups": groups(CPU * len(WORKERS))}, annotations=annotations)
    return [
        *base(),
        *federation(*WORKERS),
        cohort,
        *tenants,
        *(local_queue(name, f"tenant-{name}") for name in "ab"),
    ]


def worker(name: str) -> list[Document]:
    """Both tenants come to one queue; on w1 half of the quota belongs to its own users."""
    local = LOCAL_CPU if name == "w1" else 0
    own = [queue("own", local, "shared"), local_queue("own", "own")] if local else []
    shared = queue("global", CPU - local, "shared")
    return [*base(), shared, *(local_queue(each, "global") for each in "ab"), *own, node(cpu=CPU)]


def submitted(name: str, leads_to: str, *, here: bool = False) -> Document:
    document = job(name)
    document["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = leads_to
    document["spec"]["template"]["metadata"] = {"annotations": {RUN_SECONDS: "100000"}}
    if here:
        document["spec"].pop("managedBy")
    return document


def shares(world: VirtualWorld) -> dict[str, int]:
    """Running jobs of one cpu each, by tenant; those of w1's own users are ``own``."""
    found: Counter[str] = Counter()
    for name in WORKERS:
        for each in world.running_jobs(name):
            found[each["metadata"]["name"].split("-")[0]] += 1
    return dict(found)


def cohort_quota(world: VirtualWorld) -> str:
    (cohort,) = world.objects(MANAGER, "kueue.x-k8s.io/cohorts")
    return str(value_at(cohort, "spec.resourceGroups", [])[0]["flavors"][0]["resources"][0]["nominalQuota"])


def made(spans: bool) -> VirtualWorld:
    return VirtualWorld({MANAGER: manager(spans), **{name: worker(name) for name in WORKERS}}, FAIR)


@pytest.mark.parametrize("pauses", [(1.0, 2.0, 4.0, 8.0), (1.0, 4.0, 8.0)], ids=["doubled", "quadrupled"])
def test_shares_follow_the_weights_whatever_local_users_take_and_give_back(monkeypatch, pauses):
    """Also where a worker's status is read so late that evicted work has taken its quota again on the manager."""
    monkeypatch.setattr(queue_controllers, "REFRESH_PAUSES_SECONDS", pauses)

    async def story(world: VirtualWorld) -> None:
        await world.create(MANAGER, *(submitted(f"b-{number}", "b") for number in range(40)))
        await asyncio.sleep(60)
        assert shares(world) == {"b": 24}
        await world.create(MANAGER, *(submitted(f"a-{number}", "a") for number in range(40)))
        await asyncio.sleep(300)
        assert shares(world) == {"a": 16, "b": 8}
        await world.create("w1", *(submitted(f"own-{number}", "own", here=True) for number in range(LOCAL_CPU + 2)))
        await asyncio.sleep(300)
        found = shares(world)
        assert (found["own"], cohort_quota(world)) == (LOCAL_CPU, "20")
        assert found["a"] + found["b"] == 20
        assert abs(found["a"] - 20 * 2 / 3) < 1
        for number in range(LOCAL_CPU + 2):
            await world.clients["w1"].delete(JOBS, f"own-{number}", "ns")
        await asyncio.sleep(300)
        assert shares(world) == {"a": 16, "b": 8}

    play(made(spans=True), story)

"""A running federation of real Kueue becomes ours cluster by cluster, and goes back: running work does not notice.

Asked for by FEDHUB_TEST_KUEUE=1: three control planes, and six programs that start one after the other; two to
eight minutes.
"""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.federation_load import NAMESPACE
from tests.realcluster import disturbances, mixed_federation
from tests.realcluster.kueue import Kueue
from tests.realcluster.mixed_federation import CLUSTERS, FIRST, MANAGER, SECOND, MixedFederation, condition, job, until
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    CLUSTER_CAPACITIES,
    CLUSTER_QUEUES,
    CUSTOM_RESOURCE_DEFINITIONS,
    JOBS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from worker_agent.kube.errors import NotFound

pytestmark = pytest.mark.timeout(1800)
FEDERATED = ("one", "two", "three")
WORKERS_FIRST = (FIRST, SECOND, MANAGER)
MANAGER_FIRST = (MANAGER, FIRST, SECOND)
ANNOTATIONS = ("annotations",)
STATUS_WRITERS = {
    "clusterqueues": {"kueue"},
    "localqueues": {"kueue"},
    "workloads": {"kueue-admission", "kueue-job-controller-PodsReady"},
}
"""Whose fields of the status may differ. Kueue updates the counts of a queue, ours applies them, under the same name.
To a Workload come conditions that this Kueue does not write: PodsReady where our side waits for it, and Admitted of one
that waits, with its checks."""
KEPT_WHOLE = ("f:template", "f:admission")
"""Of a Workload, and written whole where our definition serves: the server says so of what was written before, too."""
LATER = ("taken-", "back-")
"""In the names of jobs that come while clusters change hands; a copy that another worker's was faster than goes."""


async def test_running_work_does_not_notice_who_runs_its_clusters(tmp_path: Path, peer: Kueue) -> None:
    async with mixed_federation.started(tmp_path, peer) as world:
        await _only_kueue_ever_ran_here(world)
        await _work(world)
        marks, traces = await _marks(world), await _traces(world)
        async with disturbances.noting(world, LATER) as found:
            for cluster in WORKERS_FIRST:
                await world.change_hands(cluster, to_kueue=False)
                await _serves(world, f"taken-{cluster}")
                assert found.noted == []
            assert _differences(marks, await _marks(world)) == {}
            assert _unexplained(traces, await _traces(world)) == []
            for cluster in MANAGER_FIRST:
                await world.change_hands(cluster, to_kueue=True)
                await _serves(world, f"back-{cluster}")
                assert found.noted == []
            assert _differences(marks, await _marks(world)) == {}
            assert _unexplained(traces, await _traces(world)) == []
            await _none_of_ours_is_left(world)
        await _ends(world)


async def _only_kueue_ever_ran_here(world: MixedFederation) -> None:
    for cluster in WORKERS_FIRST:
        await world.change_hands(cluster, to_kueue=True)
        await world.clients[cluster].create(
            replace(LOCAL_QUEUES, version="v1beta1"),
            {
                "apiVersion": "kueue.x-k8s.io/v1beta1",
                "kind": "LocalQueue",
                "metadata": {"name": "older", "namespace": NAMESPACE},
                "spec": {"clusterQueue": "all"},
            },
            NAMESPACE,
        )


async def _work(world: MixedFederation) -> None:
    """Three jobs run through the manager and one of a worker's own; two wait, for there is no room."""
    for name in FEDERATED:
        await world.submit(MANAGER, job(name, 20, on_manager=True))
    await world.submit(MANAGER, job("waits", 500, on_manager=True))
    local = job("local", 20, on_manager=False)
    local["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "older"
    await world.submit(FIRST, local)
    await world.submit(FIRST, job("waits-here", 500, on_manager=False))
    for name in (*FEDERATED, "local"):
        await until(lambda name=name: world.runs_on(name), f"{name} runs")
        cluster = FIRST if name == "local" else MANAGER
        await until(lambda name=name, cluster=cluster: _ready(world, cluster, name), f"{name} is told ready")
    await until(lambda: _finalized(world), "Kueue has put its finalizers on queues")


async def _ready(world: MixedFederation, cluster: str, name: str) -> bool:
    found = await world.get(cluster, JOBS, name)
    return bool(((found or {}).get("status") or {}).get("ready"))


async def _finalized(world: MixedFederation) -> bool:
    return all([(await world.get(c, CLUSTER_QUEUES, "all") or {})["metadata"].get("finalizers") for c in CLUSTERS])


async def _serves(world: MixedFederation, name: str) -> None:
    """A new job finds its way through whoever runs which cluster, and nobody overlooks the work that was there."""
    await world.submit(MANAGER, job(name, 1, on_manager=True))
    await until(lambda: world.runs_on(name), f"{name} runs")
    for cluster in CLUSTERS:
        await until(lambda cluster=cluster: _all_counted(world, cluster), f"{cluster} counts all its work")


async def _all_counted(world: MixedFederation, cluster: str) -> bool:
    queue = await world.get(cluster, CLUSTER_QUEUES, "all")
    workloads = await world.all(cluster, WORKLOADS)
    admitted = [one for one in workloads if condition(one, "Admitted").get("status") == "True"]
    status = (queue or {}).get("status") or {}
    return (status.get("admittedWorkloads"), status.get("pendingWorkloads")) == (
        len(admitted),
        len(workloads) - len(admitted),
    )


async def _marks(world: MixedFederation) -> dict[str, Document]:
    """Of everything that was there before: identity, finalizers, owners, admission and its times."""
    found = {}
    for cluster in CLUSTERS:
        for resource in (WORKLOADS, JOBS):
            for one in await world.all(cluster, resource):
                if not any(word in one["metadata"]["name"] for word in LATER):
                    found[f"{cluster} {resource.plural} {one['metadata']['name']}"] = _mark(one)
        for resource in (CLUSTER_QUEUES, RESOURCE_FLAVORS, LOCAL_QUEUES):
            for one in await world.all(cluster, resource):
                kept = {key: one["metadata"].get(key) for key in ("uid", "finalizers")}
                found[f"{cluster} {resource.plural} {one['metadata']['name']}"] = kept
    return found


def _mark(one: Document) -> Document:
    metadata, status = one["metadata"], one.get("status") or {}
    held = {
        type_: (found["status"], found["lastTransitionTime"])
        for type_ in ("QuotaReserved", "Admitted")
        if (found := condition(one, type_)).get("status") == "True"
    }
    kept = {key: metadata.get(key) for key in ("uid", "finalizers", "ownerReferences", "labels")}
    return {**kept, "held": held, "admission": status.get("admission"), "spec": one["spec"], **_foreign_writers(one)}


async def _traces(world: MixedFederation) -> dict[str, Document]:
    """Of everything that was there before: all annotations, and who is said to have written which fields."""
    found = {}
    for cluster in CLUSTERS:
        for resource in (WORKLOADS, JOBS, CLUSTER_QUEUES, RESOURCE_FLAVORS, LOCAL_QUEUES):
            for one in await world.all(cluster, resource):
                metadata = one["metadata"]
                if not any(word in metadata["name"] for word in LATER):
                    written = {_writer(field): field["fieldsV1"] for field in metadata.get("managedFields") or ()}
                    if resource == WORKLOADS:
                        written = {writer: _without_leaves(fields) for writer, fields in written.items()}
                    place = f"{cluster} {resource.plural} {metadata['name']}"
                    found[place] = {ANNOTATIONS: metadata.get("annotations"), **written}
    return found


def _without_leaves(fields: Document) -> Document:
    return {name: {} if name in KEPT_WHOLE else _without_leaves(inner) for name, inner in fields.items()}


def _writer(field: Document) -> tuple[str, ...]:
    return tuple(field.get(key, "") for key in ("manager", "operation", "subresource", "apiVersion"))


def _unexplained(before: dict[str, Document], after: dict[str, Document]) -> list[str]:
    return [
        f"{place}: {writer}: {was} -> {now}"
        for place, fields in _differences(before, after).items()
        for writer, (was, now) in fields.items()
        if not _is_explained(place.split()[1], writer, was, now)
    ]


def _is_explained(plural: str, writer: tuple[str, ...], was: Document | None, now: Document | None) -> bool:
    if writer == ANNOTATIONS or writer[2] != "status" or writer[0] not in STATUS_WRITERS.get(plural, ()):
        return False
    # From a Workload nothing that Kueue wrote is taken away.
    return plural != "workloads" or was is None or (now is not None and _holds(now, was))


def _holds(whole: Document, part: Document) -> bool:
    return all(key in whole and _holds(whole[key], inner) for key, inner in part.items())


def _foreign_writers(one: Document) -> Document:
    """Field managers that Kueue does not know: whatever it applies would be in conflict with theirs."""
    writers = {field["manager"] for field in one["metadata"].get("managedFields") or ()}
    return {"foreign writers": sorted(writer for writer in writers if writer.startswith("fedhub"))}


def _differences(before: dict[str, Document], after: dict[str, Document]) -> dict[str, Document]:
    """By object and field: what was, and what is."""
    found: dict[str, Document] = {}
    for place in before.keys() | after.keys():
        was, now = before.get(place, {}), after.get(place, {})
        fields = {key: (was.get(key), now.get(key)) for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
        if fields:
            found[place] = fields
    return found


async def _none_of_ours_is_left(world: MixedFederation) -> None:
    """Deleting the definition of ClusterCapacity, which was done on the way back, was enough."""
    for cluster in CLUSTERS:
        with pytest.raises(NotFound):
            await world.clients[cluster].get(
                CUSTOM_RESOURCE_DEFINITIONS, f"{CLUSTER_CAPACITIES.plural}.{CLUSTER_CAPACITIES.group}"
            )
        for resource in (WORKLOADS, JOBS, CLUSTER_QUEUES, LOCAL_QUEUES):
            for one in await world.all(cluster, resource):
                assert "fedhub" not in msgspec.json.encode(one["metadata"].get("finalizers") or []).decode()


async def _ends(world: MixedFederation) -> None:
    for name in FEDERATED:
        await world.finish(name)
        await until(lambda name=name: world.complete(name), f"{name} is Complete on the manager")
    for cluster in (MANAGER, FIRST):
        for found in await world.all(cluster, JOBS):
            if cluster == MANAGER or found["metadata"]["name"] in ("local", "waits-here"):
                await world.clients[cluster].delete(JOBS, found["metadata"]["name"], NAMESPACE)
    await until(world.nothing_left, "no Job, Workload or pod is left anywhere")

"""Today's programs on the objects and definitions of an earlier release: all is read, nothing is evicted."""

import contextlib
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.local.apiserver import serve
from hub.local.apiserver.serve import ServerConfig
from tests.integration.federation import world
from tests.integration.federation.world import Cluster, Federation
from tests.integration.upgrade.maker import CLUSTERS, QUOTA
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS, JOBS, WORKLOADS

RELEASES = sorted((Path(__file__).parent / "releases").glob("*.tar.xz"))
pytestmark = [
    pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name.removesuffix(".tar.xz")),
    pytest.mark.embedded,
]


@contextlib.asynccontextmanager
async def unpacked(release: Path, folder: Path) -> AsyncIterator[Federation]:
    """The release's clusters, served by today's API server; no program runs yet."""
    with tarfile.open(release) as archive:
        archive.extractall(folder, filter="data")
    servers = []
    try:
        for cluster in CLUSTERS:
            config = ServerConfig(data_dir=folder / cluster, name=cluster, crds=crds.documents(), persist=True)
            servers.append(await serve.start(config))
        found = Federation(servers, QUOTA)
        try:
            yield found
        finally:
            await found.stop_all()
    finally:
        for server in servers:
            await server.stop()


def clusters(found: Federation) -> list[Cluster]:
    return [found.manager, *found.workers.values()]


async def work(found: Federation) -> dict[str, Document]:
    """Jobs and Workloads of every cluster, by place."""
    return {
        f"{cluster.name} {resource.plural} {one['metadata']['name']}": one
        for cluster in clusters(found)
        for resource in (JOBS, WORKLOADS)
        for one in await cluster.all(resource)
    }


def essence(one: Document) -> Document:
    """What may not change while nothing happens."""
    status = one.get("status") or {}
    held = {
        condition["type"]: (condition["status"], condition["lastTransitionTime"])
        for condition in status.get("conditions") or ()
    }
    return {
        "uid": one["metadata"]["uid"],
        "finalizers": one["metadata"].get("finalizers"),
        "spec": one["spec"],
        "held": held,
        "admission": status.get("admission"),
    }


def essences(found: dict[str, Document]) -> dict[str, Document]:
    return {place: essence(one) for place, one in found.items()}


async def test_every_definition_is_todays(release: Path, tmp_path: Path) -> None:
    async with unpacked(release, tmp_path) as found:
        for cluster in clusters(found):
            served = {one["metadata"]["name"]: one["spec"] for one in await cluster.all(CUSTOM_RESOURCE_DEFINITIONS)}
            for wanted in crds.documents():
                assert served[wanted["metadata"]["name"]]["versions"] == wanted["spec"]["versions"]


async def test_work_goes_on_as_it_was(release: Path, tmp_path: Path) -> None:
    async with unpacked(release, tmp_path) as found:
        before = await work(found)
        for name in QUOTA:
            found.start_worker(name)
        found.start_hub()
        await found.manager.create(world.job("new", cpu=1))
        await world.until(lambda: world.runs_on(found, "new"), "a new job runs")
        after = {place: one for place, one in (await work(found)).items() if "new" not in place}
        assert essences(after) == essences(before)


async def test_running_job_ends_and_makes_room_for_the_one_that_waited(release: Path, tmp_path: Path) -> None:
    async with unpacked(release, tmp_path) as found:
        for name in QUOTA:
            found.start_worker(name)
        found.start_hub()
        for name in ("first", "second"):
            await world.finish_job(found.workers[await world.runs_on(found, name)], name)
            await world.until(lambda name=name: world.is_complete(found.manager, name), f"{name} is Complete")
        await world.until(lambda: _reserves(found), "the job that waited gets quota on the manager")


async def _reserves(found: Federation) -> bool:
    workload = await world.workload_of(found, "waits")
    reached = ((workload or {}).get("status") or {}).get("conditions") or []
    return any(one["type"] == "QuotaReserved" and one["status"] == "True" for one in reached)

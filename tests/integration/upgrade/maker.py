"""Makes the state that a release leaves: run by ``scripts/snapshot-release`` with the code of that release.

    python maker.py FOLDER

A manager and two workers on embedded API servers with SQLite in ``FOLDER/<cluster>``: jobs that run on a worker, a job
that waits for room, one that has ended, a local job of a worker, one that is deactivated. It uses nothing but what
every release has had.
"""

import asyncio
import sys
from pathlib import Path

from hub.local.apiserver import serve
from hub.local.apiserver.serve import ServerConfig
from tests.integration.federation import world
from tests.integration.federation.world import Federation
from worker_agent.api import crds
from worker_agent.api.resource_type import JOBS, WORKLOADS

CLUSTERS = ("manager", "worker1", "worker2")
QUOTA = {"worker1": 4, "worker2": 4}


async def make(folder: Path) -> None:
    servers = []
    for cluster in CLUSTERS:
        (folder / cluster).mkdir(parents=True)
        servers.append(
            await serve.start(
                ServerConfig(data_dir=folder / cluster, name=cluster, crds=crds.documents(), persist=True)
            )
        )
    made = Federation(servers, QUOTA)
    try:
        await made.install()
        for name in QUOTA:
            made.start_worker(name)
        made.start_hub()
        await _work(made)
        await made.stop_all()
    finally:
        for server in servers:
            await server.stop()


async def _work(made: Federation) -> None:
    for name in ("first", "second", "ended"):
        await made.manager.create(world.job(name, cpu=1, parallelism=2))
        await world.until(lambda name=name: world.runs_on(made, name), f"{name} runs")
    await world.finish_job(made.workers[await world.runs_on(made, "ended")], "ended")
    await world.until(lambda: world.is_complete(made.manager, "ended"), "ended is Complete")
    for name in ("waits", "inactive"):
        await made.manager.create(world.job(name, cpu=3, parallelism=2))
        await world.until(lambda name=name: world.workload_of(made, name), f"{name} has a Workload")
    inactive = await world.workload_of(made, "inactive")
    assert inactive is not None
    await made.manager.patch(WORKLOADS, inactive["metadata"]["name"], {"spec": {"active": False}})
    local = world.job("local", cpu=1)
    local["spec"].pop("managedBy", None)
    await made.workers["worker1"].create(local)
    await world.until(lambda: _starts(made), "the local job runs")


async def _starts(made: Federation) -> bool:
    found = await made.workers["worker1"].get(JOBS, "local")
    return found is not None and found["spec"].get("suspend") is False


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1])))

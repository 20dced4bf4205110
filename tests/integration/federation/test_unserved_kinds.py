"""A worker that does not serve every kind of jobs the manager has is a worker all the same."""

from hub.clusters.worker_connection import ConnectionSettings, WorkerConnection
from tests.api_servers import served
from worker_agent.api.resource_type import JOBS, MPI_JOBS
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock


async def test_contact_needs_no_kind_but_workloads(tmp_path):
    lost: list[str] = []
    kinds = (KINDS["batch/job"], KINDS["kubeflow.org/mpijob"])
    async with served(tmp_path) as server:
        client = Client(server.transport, SystemClock())
        link = WorkerConnection("oregon", client, ConnectionSettings("origin", kinds), lambda: lost.append("oregon"))
        try:
            await link.open(30.0)
            assert link.watches.required[JOBS].synced.is_set()
            assert not link.watches.required[MPI_JOBS].synced.is_set()
            assert list(link.our_jobs(kinds)) == []
            assert lost == []
        finally:
            await link.close()

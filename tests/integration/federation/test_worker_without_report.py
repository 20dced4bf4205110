"""A worker that has no ClusterCapacity: real Kueue runs there, or its agent has yet to write the first."""

import asyncio
import contextlib

from hub.clusters.worker_connection import ConnectionSettings, WorkerConnection
from hub.controllers import cluster_controller
from tests import api_servers
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock

PATIENCE_SECONDS = 120.0


async def test_its_report_is_empty_and_tells_no_version():
    async with api_servers.in_memory(1) as (server,), contextlib.AsyncExitStack() as opened:
        client = Client(server.transport, SystemClock())
        settings = ConnectionSettings("origin", (KINDS["batch/job"],))
        link = WorkerConnection("oregon", client, settings, lambda: None)
        opened.push_async_callback(link.close)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await link.open(PATIENCE_SECONDS)
        assert link.report == b""
        assert cluster_controller.agent_version(link.report) == ""

"""An embedded server with a simulated cluster that can be killed and started again."""

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from hub.local.apiserver import bootstrap
from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.simulation.cluster import ALL_PARTS, run_simulation
from hub.local.simulation.kubelet import Completion
from hub.local.simulation.shape import ClusterShape, NodeGroup
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS, NODES, PODS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.faults import FaultPlan, FaultyTransport

START = datetime(2026, 1, 1, tzinfo=UTC)
SMALL = ClusterShape((NodeGroup("n", 2, {"cpu": "4", "memory": "16Gi", "pods": "110"}),))


class World:
    """Use as ``async with``. ``simulate`` starts the simulation, ``kill`` stops it without any goodbye."""

    def __init__(self, shape: ClusterShape = SMALL, seed: int = 0, crds: Sequence[Document] = ()) -> None:
        self.clock = LoopClock(START, seed)
        self.shape = shape
        self.completions: list[Completion] = []
        self.parts = ALL_PARTS
        core = Core(new_state(random.Random(seed).randbytes, 1), SchemaRegistry(), Authenticator({}))
        self.server = ApiServer(core, self.clock)
        bootstrap.fill(core, crds, START)
        self.client = Client(InProcessTransport(self.server), self.clock)
        self.faults = FaultyTransport(InProcessTransport(self.server), self.clock, FaultPlan(seed=seed))
        self.simulated = Client(self.faults, self.clock)
        self._simulation: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "World":
        await self.server.settle()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.kill()
        await self.server.stop()

    def simulate(self) -> None:
        told = self.completions.append
        run = run_simulation(self.simulated, self.shape, self.clock, on_completion=told, parts=self.parts)
        self._simulation = asyncio.create_task(run)

    async def kill(self) -> None:
        task, self._simulation = self._simulation, None
        if task is not None:
            task.cancel()
            outcome = (await asyncio.gather(task, return_exceptions=True))[0]
            if outcome is not None and not isinstance(outcome, asyncio.CancelledError):
                raise outcome

    async def create_job(self, name: str = "train", *, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": spec.pop("cpu", "1")}}}
        template = {
            "metadata": {"annotations": annotations or {}},
            "spec": {"restartPolicy": spec.pop("restart", "Never"), "containers": [container]},
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": template, **spec},
        }
        await self.client.create(JOBS, job, "default")

    async def patch_job(self, body: dict[str, Any], name: str = "train") -> None:
        await self.client.patch(JOBS, name, "default", body, patch_type=PatchType.MERGE)

    async def set_node_ready(self, name: str, status: str) -> None:
        body = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
        await self.client.patch(NODES, name, "", body, patch_type=PatchType.STRATEGIC, subresource="status")

    async def job(self, name: str = "train") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self.client.get(JOBS, name, "default"))
        return found

    async def pods(self) -> list[dict[str, Any]]:
        return [json.loads(item) for item in (await self.client.list(PODS, "default")).items]

    async def until_job(self, condition: Callable[[dict[str, Any]], bool], name: str = "train") -> dict[str, Any]:
        async with asyncio.timeout(3600):
            while not condition(job := await self.job(name)):  # noqa: ASYNC110 - any condition; time is virtual
                await asyncio.sleep(0.25)
        return job

    async def until_pods(self, condition: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        async with asyncio.timeout(3600):
            while not condition(pods := await self.pods()):  # noqa: ASYNC110 - any condition; time is virtual
                await asyncio.sleep(0.25)
        return pods


def is_true(job: dict[str, Any], type: str) -> bool:
    return any(c["type"] == type and c["status"] == "True" for c in job.get("status", {}).get("conditions", ()))


def complete(job: dict[str, Any]) -> bool:
    return is_true(job, "Complete")

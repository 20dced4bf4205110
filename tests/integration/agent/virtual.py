"""An agent on a simulated cluster, all on the event loop's own time, so that hours pass in moments."""

import asyncio
import json
from collections import Counter

from hub.local.apiserver import bootstrap
from hub.local.simulation.shape import ClusterShape, NodeGroup
from tests.integration.agent.world import job, queue_documents
from tests.integration.simulation.world import START, World, is_true
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS, PODS, WORKLOADS
from worker_agent.app import configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.faults import FaultPlan, FaultyTransport
from worker_agent.settings import AgentSettings

NODES = ClusterShape((NodeGroup("n", 4, {"cpu": "16", "memory": "64Gi", "pods": "110"}),))


def _owners(workload: Document) -> list[Document]:
    return workload["metadata"].get("ownerReferences") or []


class Cluster(World):
    """A simulated cluster whose agent can be killed and started again."""

    def __init__(self, seed: int = 0, shape: ClusterShape = NODES, **settings: object) -> None:
        super().__init__(shape, seed)
        definitions = crds.documents() if shape.autoscaler is None else crds.with_autoscaler()
        bootstrap.fill(self.server.core, definitions, START)
        self.settings = AgentSettings(leader_election={"leader_elect": False}, **settings)
        self.agent_faults = FaultyTransport(self.client.transport, self.clock, FaultPlan(seed=seed))
        self.most_cpu = 0
        self._agent: asyncio.Task[None] | None = None

    def start_agent(self) -> None:
        surroundings = Surroundings(self.agent_faults, self.clock, threaded=False, webhooks=False)
        self.agent = Agent(configuration.resolve(self.settings), surroundings)
        self._agent = asyncio.create_task(self.agent.run(asyncio.Event()))

    async def kill_agent(self) -> None:
        """Nothing is finished, nothing flushed."""
        task, self._agent = self._agent, None
        if task is not None:
            if task.done():
                task.result()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def __aexit__(self, *failure: object) -> None:
        await self.kill_agent()
        await super().__aexit__(*failure)

    async def queue(self, cpu: str, **spec: object) -> None:
        for resource, document in queue_documents(cpu, **spec):
            await self.client.create(resource, document, document["metadata"].get("namespace", ""))

    async def submit(
        self, name: str, cpu: str = "1", run_seconds: int = 5, labels: Document | None = None, **spec: object
    ) -> None:
        document = job(name, cpu)
        document["metadata"]["labels"] |= labels or {}
        document["spec"] |= {"suspend": True, **spec}
        document["spec"]["template"]["metadata"] = {"annotations": {"fedhub.dev/run-seconds": str(run_seconds)}}
        await self.client.create(JOBS, document, "default")

    async def workload(self, job: str) -> Document:
        """The job's Workload; empty where there is none."""
        items = (await self.client.list(WORKLOADS, "default")).items
        found = [w for w in map(json.loads, items) if any(o["name"] == job for o in _owners(w))]
        return found[0] if found else {}

    async def until_condition(self, job: str, type_: str, reason: str, pause: float = 0.5) -> Document:
        """Waits, for days if need be, until the job's Workload has the condition with that reason."""
        async with asyncio.timeout(7 * 24 * 3600):
            while True:
                conditions = (await self.workload(job)).get("status", {}).get("conditions", [])
                found = [c for c in conditions if (c["type"], c["reason"]) == (type_, reason)]
                if found:
                    return found[0] if found else {}
                self.check_agent()
                await asyncio.sleep(pause)

    async def until_all_complete(self) -> list[Document]:
        async with asyncio.timeout(24 * 3600):
            while True:
                jobs = [json.loads(raw) for raw in (await self.client.list(JOBS, "default")).items]
                if all(is_true(found, "Complete") for found in jobs):
                    return jobs
                self.check_agent()
                await asyncio.sleep(0.5)

    def check_agent(self) -> None:
        """Raises what ended the agent, if it has ended."""
        if self._agent is not None and self._agent.done():
            self._agent.result()

    async def watch_cpu(self) -> None:
        """Notes the most cpu that running pods ever asked for at one time; runs until cancelled."""
        while True:
            pods = [json.loads(raw) for raw in (await self.client.list(PODS, "default")).items]
            busy = [pod for pod in pods if pod["status"].get("phase") in ("Pending", "Running")]
            asked = sum(int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for pod in busy)
            self.most_cpu = max(self.most_cpu, asked)
            await asyncio.sleep(0.1)

    def runs(self) -> Counter[str]:
        """How many pods ran to success, by job UID; pods told twice count once."""
        distinct = {completion.uid: completion for completion in self.completions}
        return Counter(c.job_uid for c in distinct.values() if c.phase == "Succeeded")

"""A manager cluster of the races' sort, whose hub sends everything to one worker."""

from dataclasses import replace

import msgspec

from hub.app import configuration
from hub.app.hub import Hub
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.objects import resource_of
from hub.settings import HubSettings
from tests.integration.federation.world import federation
from tests.races.world import CLUSTER_QUEUE, SETTINGS, World
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CLUSTER_QUEUES, MULTIKUEUE_CLUSTERS, NAMESPACES
from worker_agent.app.agent import Agent
from worker_agent.kube.client import PatchType

WORKER = "east"


class Manager(World):
    """``worker`` is the cluster its jobs go to; both share one loop and its time."""

    def __init__(self, seed: int, worker: World) -> None:
        super().__init__(seed)
        self._worker = worker

    def agent(self) -> Agent:
        settings, federated = configuration.resolve(HubSettings(**SETTINGS))
        made = Agent(settings, self.surroundings())
        Hub(made, replace(federated, threaded=False), transport=lambda found: InProcessTransport(self._worker.server))
        return made

    async def federate(self) -> None:
        """Registers the worker and returns when it is connected."""
        namespace: Document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}}
        await self.client.create(NAMESPACES, namespace)
        for document in federation(WORKER):
            await self.client.create(resource_of(document), document, document["metadata"].get("namespace", ""))
        checks = {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk"}]}}}
        await self.client.patch(CLUSTER_QUEUES, CLUSTER_QUEUE, "", checks, patch_type=PatchType.MERGE)
        for _ in range(600):
            found = msgspec.json.decode(await self.client.get(MULTIKUEUE_CLUSTERS, WORKER))
            conditions = (found.get("status") or {}).get("conditions") or ()
            if any(each["type"] == "Active" and each["status"] == "True" for each in conditions):
                return
            await self.clock.sleep(0.5)
        raise AssertionError("the worker does not get connected")

"""A simulated cluster whose queue asks an autoscaler for nodes, on virtual time."""

import asyncio
import json
from collections.abc import Callable

from hub.local.simulation.shape import AutoscalerRules, ClusterShape, NodeGroup
from tests.integration.agent.virtual import Cluster
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    EVENTS,
    JOBS,
    LOCAL_QUEUES,
    NODES,
    POD_TEMPLATES,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
    ResourceType,
)
from worker_agent.kube.client import PatchType

GROW = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
POOL = {"pool": "burst", "rack": "r1"}
HOUR = 3600.0


def shape(**rules: float) -> ClusterShape:
    """One fixed node, and a group that can grow from none to three nodes of 8 cpu."""
    fixed = NodeGroup("fixed", 1, {"cpu": "2", "memory": "8Gi"}, {"pool": "fixed"})
    burst = NodeGroup("burst", 0, {"cpu": "8", "memory": "32Gi"}, POOL, max_count=3)
    return ClusterShape((fixed, burst), AutoscalerRules(**rules))


class Burst(Cluster):
    """Queue ``user-queue`` of flavor ``burst``, with check ``room`` configured by ``config``'s fields."""

    def __init__(self, seed: int = 0, rules: dict[str, float] | None = None, **settings: object) -> None:
        super().__init__(seed, shape(**(rules or {})), **settings)

    async def make(self, resource: ResourceType, name: str, namespace: str = "", **fields: object) -> None:
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        await self.client.create(resource, head | fields, namespace)

    async def queues(self, *, cpu: str = "100", topology: bool = False, **config: object) -> None:
        flavor: Document = {"nodeLabels": {"pool": "burst"}}
        if topology:
            levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
            await self.make(TOPOLOGIES, "racks", spec={"levels": levels})
            flavor["topologyName"] = "racks"
        await self.make(RESOURCE_FLAVORS, "burst", spec=flavor)
        wanted = {"provisioningClassName": GROW, **config}
        await self.make(PROVISIONING_REQUEST_CONFIGS, "grow", spec=wanted)
        reference = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "grow"}
        check = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": reference}
        await self.make(ADMISSION_CHECKS, "room", spec=check)
        resources = [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "1000Gi"}]
        groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "burst", "resources": resources}]}]
        checks = {"admissionChecks": [{"name": "room"}]}
        queue = {"namespaceSelector": {}, "resourceGroups": groups, "admissionChecksStrategy": checks}
        await self.make(CLUSTER_QUEUES, "cluster-queue", spec=queue)
        await self.make(LOCAL_QUEUES, "user-queue", "default", spec={"clusterQueue": "cluster-queue"})

    async def configure(self, **config: object) -> None:
        body = {"spec": config}
        await self.client.patch(PROVISIONING_REQUEST_CONFIGS, "grow", "", body, patch_type=PatchType.MERGE)

    async def started(self, **queues: object) -> None:
        """Simulation, agent and queues."""
        self.simulate()
        self.start_agent()
        await self.queues(**queues)

    async def submit_gang(
        self,
        name: str = "train",
        pods: int = 2,
        cpu: str = "6",
        *,
        run_seconds: int = 30,
        topology: str = "",
        priority: str = "",
    ) -> None:
        """A Job of so many equal pods; ``topology`` is the level at which they must be together."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
        marks = {"fedhub.dev/run-seconds": str(run_seconds)}
        if topology:
            marks["kueue.x-k8s.io/podset-required-topology"] = topology
        spec = {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"annotations": marks},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        }
        labels = {"kueue.x-k8s.io/queue-name": "user-queue"}
        if priority:
            labels["kueue.x-k8s.io/priority-class"] = priority
        job = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
        metadata = {"name": name, "namespace": "default", "labels": labels}
        await self.client.create(JOBS, job | {"metadata": metadata}, "default")

    async def listed(self, resource: ResourceType) -> dict[str, Document]:
        namespace = "default" if resource.namespaced else ""
        found = [json.loads(raw) for raw in (await self.client.list(resource, namespace)).items]
        return {document["metadata"]["name"]: document for document in found}

    async def requests(self) -> dict[str, Document]:
        return await self.listed(PROVISIONING_REQUESTS)

    async def nodes(self) -> set[str]:
        return set(await self.listed(NODES))

    async def events(self, reason: str) -> list[str]:
        return [e["note"] for e in (await self.listed(EVENTS)).values() if e["reason"] == reason]

    async def templates(self) -> dict[str, Document]:
        return await self.listed(POD_TEMPLATES)

    async def until(self, what: Callable[[], object], seconds: float = HOUR) -> object:
        """The first true answer of the coroutine function ``what``, in virtual time."""
        async with asyncio.timeout(seconds):
            while not (answer := await what()):  # type: ignore[misc]
                self.check_agent()
                await asyncio.sleep(0.25)
        return answer

    async def check_state(self, job: str = "train") -> Document:
        """The Workload's entry of check ``room``; empty while there is none."""
        status = (await self.workload(job)).get("status") or {}
        return next((check for check in status.get("admissionChecks") or () if check["name"] == "room"), {})

    async def until_check(self, state: str, job: str = "train", seconds: float = HOUR) -> Document:
        async def reached() -> Document | None:
            check = await self.check_state(job)
            return check if check.get("state") == state else None

        return await self.until(reached, seconds)  # type: ignore[return-value]

    async def answer(self, request: str, type_: str, message: str = "", status: str = "True") -> None:
        """What another autoscaler would write."""
        present = (await self.requests())[request].get("status", {}).get("conditions") or []
        condition = {
            "type": type_,
            "status": status,
            "reason": "ByTest",
            "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        conditions = [c for c in present if c["type"] != type_] + [condition]
        await self.client.patch(
            PROVISIONING_REQUESTS,
            request,
            "default",
            {"status": {"conditions": conditions}},
            patch_type=PatchType.MERGE,
            subresource="status",
        )

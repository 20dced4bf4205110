"""A federation of real control planes in which each cluster is run by ours or by real Kueue, and may change hands.

``change_hands`` is what the README tells under "From Kueue, and back": one cluster at a time, with jobs running.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hub.local import objects, processes, programs
from hub.local.federation import connect
from hub.local.programs import Program
from hub.local.simulation import job_pods, pod_status
from tests.benchmarks.dispatch_rig import Rig
from tests.benchmarks.federation_load import NAMESPACE, QUEUE
from tests.realcluster import kueue
from tests.realcluster.kueue import Kueue
from worker_agent.api import crds, names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    JOBS,
    PODS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    ResourceType,
)
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import NotFound

MANAGER, FIRST, SECOND = "manager", "worker-01", "worker-02"
CLUSTERS = (MANAGER, FIRST, SECOND)
PATIENCE = 300.0
URGENT = "urgent"


def role(cluster: str) -> str:
    """The process that dispatches or admits in a cluster."""
    return programs.HUB if cluster == MANAGER else f"{programs.AGENT}-{cluster}"


def job(name: str, cpu: int, *, on_manager: bool, urgent: bool = False) -> Document:
    """A Job of one pod that runs until told, as the webhooks leave it: real Kueue runs without them here."""
    labels = {"kueue.x-k8s.io/queue-name": QUEUE}
    if urgent:
        labels["kueue.x-k8s.io/priority-class"] = URGENT
    resources = {"requests": {"cpu": str(cpu), "memory": "1Gi"}}
    template = {
        "metadata": {"annotations": {names.RUN_SECONDS_ANNOTATION: "100000000"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": resources}]},
    }
    spec: Document = {"suspend": True, "template": template}
    if on_manager:
        spec["managedBy"] = names.MULTIKUEUE_CONTROLLER
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


@dataclass
class MixedFederation:
    """Made by ``started``."""

    rig: Rig
    peer: Kueue
    clients: dict[str, Client]
    ours: dict[str, Program] = field(default_factory=dict)

    async def change_hands(self, cluster: str, *, to_kueue: bool) -> None:
        """Stops who runs the cluster, installs the other's definitions, starts the other and waits for it."""
        federation, name = self.rig.federation, role(cluster)
        self.ours.setdefault(name, federation.programs[name])
        processes.stop([federation.running.pop(name)])
        client = self.clients[cluster]
        if to_kueue:
            await kueue.install(self.peer, client)
            where = self.rig.roles[name]
            federation.programs[name] = kueue.program(self.peer, name, where, federation.layout, {})
        else:
            await objects.apply(client, list(crds.documents()))
            federation.programs[name] = self.ours[name]
        federation.restart(name)
        await federation.ready(name)

    async def lose(self, worker: str) -> None:
        """The worker's API server goes; who runs it stays."""
        processes.stop([self.rig.federation.running.pop(f"{programs.CLUSTER}-{worker}")])

    async def give_back(self, worker: str) -> None:
        federation = self.rig.federation
        federation.restart(f"{programs.CLUSTER}-{worker}")
        await federation.ready(f"{programs.CLUSTER}-{worker}")
        if not federation.running[role(worker)].alive:
            federation.restart(role(worker))

    async def submit(self, cluster: str, document: Document) -> None:
        await self.clients[cluster].create(JOBS, document, NAMESPACE)

    async def all(self, cluster: str, resource: ResourceType) -> list[Document]:
        found = await self.clients[cluster].list(resource, NAMESPACE if resource.namespaced else "")
        return [msgspec.json.decode(item) for item in found.items]

    async def get(self, cluster: str, resource: ResourceType, name: str) -> Document | None:
        namespace = NAMESPACE if resource.namespaced else ""
        try:
            found: Document = msgspec.json.decode(await self.clients[cluster].get(resource, name, namespace))
        except NotFound:
            return None
        return found

    async def runs_on(self, name: str) -> str:
        """The worker where a pod of the job runs; empty while none does."""
        for worker in (FIRST, SECOND):
            if await self.running_pods(worker, name):
                return worker
        return ""

    async def running_pods(self, worker: str, name: str) -> list[Document]:
        found = []
        for pod in await self.all(worker, PODS):
            labels = pod["metadata"].get("labels") or {}
            running = job_pods.phase(pod) == pod_status.RUNNING and "deletionTimestamp" not in pod["metadata"]
            if running and labels.get("batch.kubernetes.io/job-name") == name:
                found.append(pod)
        return found

    async def finish(self, name: str) -> None:
        """What the kubelet writes when the job's container has ended well."""
        worker = await self.runs_on(name)
        client = self.clients[worker]
        for pod in await self.running_pods(worker, name):
            body = {"status": pod_status.ended(pod, 0, client.clock.now())}
            await client.patch(
                PODS,
                pod["metadata"]["name"],
                NAMESPACE,
                body,
                patch_type=PatchType.MERGE,
                subresource="status",
                field_manager="kubelet",
            )

    async def complete(self, name: str) -> bool:
        found = await self.get(MANAGER, JOBS, name)
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)

    async def workload_of(self, cluster: str, name: str) -> Document | None:
        for workload in await self.all(cluster, WORKLOADS):
            owners = workload["metadata"].get("ownerReferences") or ()
            if any(owner["name"] == name for owner in owners):
                return workload
        return None

    async def nothing_left(self) -> bool:
        for cluster in CLUSTERS:
            for kind in (JOBS, WORKLOADS, PODS):
                if await self.all(cluster, kind):
                    return False
        return True

    async def preemptible(self, clusters: Iterable[str] = CLUSTERS) -> None:
        """Urgent jobs evict others of their queue."""
        for cluster in clusters:
            client = self.clients[cluster]
            preemption = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
            await client.patch(CLUSTER_QUEUES, "all", "", preemption, patch_type=PatchType.MERGE)
            urgent = {
                "apiVersion": WORKLOAD_PRIORITY_CLASSES.api_version,
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": URGENT},
                "value": 1000,
            }
            await objects.apply(client, [urgent])

    async def set_quota(self, cluster: str, cpu: int) -> None:
        queue = await self.get(cluster, CLUSTER_QUEUES, "all")
        assert queue is not None
        groups = queue["spec"]["resourceGroups"]
        groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = str(cpu)
        body = {"spec": {"resourceGroups": groups}}
        await self.clients[cluster].patch(CLUSTER_QUEUES, "all", "", body, patch_type=PatchType.MERGE)


def condition(document: Document | None, type_: str) -> Document:
    """Empty where the object has none of this type."""
    conditions = ((document or {}).get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == type_), {})


async def until(what: Callable[[], Awaitable[Any]], message: str) -> Any:
    """The first true answer; the test fails after PATIENCE."""
    answer = None
    try:
        async with asyncio.timeout(PATIENCE):
            while not (answer := await what()):
                await SystemClock().sleep(0.3)
    except TimeoutError:
        raise AssertionError(f"did not come about: {message}; last answer {answer!r}") from None
    return answer


@asynccontextmanager
async def started(folder: Path, peer: Kueue) -> AsyncIterator[MixedFederation]:
    """Ours everywhere to begin with, with queues and workers registered."""
    rig = Rig(folder, workers=2, room_for_jobs=6, real=True)
    async with AsyncExitStack() as stack:
        stack.callback(rig.stop)
        await rig.start(lambda text: None)
        layout = rig.federation.layout
        clients = {name: await stack.enter_async_context(connect(layout, name)) for name in CLUSTERS}
        yield MixedFederation(rig, peer, clients)

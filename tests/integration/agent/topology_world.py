"""A simulated cluster with blocks and racks, and an agent on it, on virtual time."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from hub.local.simulation.shape import ClusterShape, NodeGroup
from tests.integration.agent.virtual import Cluster
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    EVENTS,
    JOBS,
    LOCAL_QUEUES,
    NODES,
    PODS,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
    ResourceType,
)
from worker_agent.kube.client import PatchType

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
GROUP = {"example.com/group": "tas"}


def rack(block: str, name: str, nodes: int, cpu: str = "4", prefix: str = "") -> NodeGroup:
    """Equal nodes ``<prefix or block-name>-0`` and so on."""
    labels = {**GROUP, BLOCK: block, RACK: name}
    return NodeGroup(prefix or f"{block}-{name}", nodes, {"cpu": cpu, "memory": "16Gi", "pods": "110"}, labels)


TWO_BY_TWO = ClusterShape(tuple(rack(block, name, 2) for block in ("b1", "b2") for name in ("r1", "r2")))


class TopologyCluster(Cluster):
    """One ClusterQueue on one flavor with the levels block, rack, host."""

    def __init__(self, *racks: NodeGroup, seed: int = 0, **settings: object) -> None:
        super().__init__(seed, ClusterShape(racks) if racks else TWO_BY_TWO, **settings)

    async def topology_queue(self, cpu: str = "1000", levels: tuple[str, ...] = (BLOCK, RACK, HOST)) -> None:
        for resource, document in topology_documents(cpu, levels):
            await self.client.create(resource, document, document["metadata"].get("namespace", ""))

    async def train(self, name: str, pods: int, annotations: Document | None = None, **spec: Any) -> None:
        """An indexed job whose pods run until told to stop."""
        template = {"fedhub.dev/run-seconds": "100000", **(annotations or {})}
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": spec.pop("cpu", "1")}}}
        document = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": {"kueue.x-k8s.io/queue-name": "user-queue"},
            },
            "spec": {
                "suspend": True,
                "parallelism": pods,
                "completions": pods,
                "completionMode": "Indexed",
                "template": {
                    "metadata": {"annotations": template},
                    "spec": {"restartPolicy": "Never", "containers": [container], **spec.pop("pod", {})},
                },
                **spec,
            },
        }
        await self.client.create(JOBS, document, "default")

    async def running(self, job: str, pods: int) -> dict[int, Document]:
        """Waits until so many pods of the job run; by completion index."""

        def all_run(found: list[Document]) -> bool:
            return len(_living(found, job)) == pods

        found = await self.until_pods(self._watched(all_run))
        return {index(pod): pod for pod in _living(found, job)}

    def _watched(self, condition: Callable[[list[Document]], bool]) -> Callable[[list[Document]], bool]:
        def checked(found: list[Document]) -> bool:
            self.check_agent()
            return condition(found)

        return checked

    async def domains(self, job: str) -> Counter[str]:
        """Host -> pods, as the job's Workload is admitted."""
        workload = await self.workload(job)
        found: Counter[str] = Counter()
        for assignment in workload["status"]["admission"]["podSetAssignments"]:
            found += hosts(assignment.get("topologyAssignment") or {})
        return found

    async def until(self, condition: Callable[[], Any], what: str, seconds: float = 600) -> Any:
        """Waits for an awaitable condition on virtual time."""
        try:
            async with asyncio.timeout(seconds):
                while not (answer := await condition()):
                    self.check_agent()
                    await asyncio.sleep(0.25)
        except TimeoutError:
            raise AssertionError(f"did not come about within {seconds} s: {what}") from None
        return answer

    async def events(self, reason: str) -> list[str]:
        """What the events of this reason say."""
        found = [json.loads(raw) for raw in (await self.client.list(EVENTS, "default")).items]
        return [event["note"] for event in found if event["reason"] == reason]

    async def event(self, reason: str) -> str:
        """Waits for an event of this reason; returns what it says."""
        return (await self.until(lambda: self.events(reason), f"event {reason}"))[0]

    async def taint(self, name: str, *taints: Document) -> None:
        await self.client.patch(NODES, name, "", {"spec": {"taints": list(taints)}}, patch_type=PatchType.MERGE)

    async def cordon(self, name: str, on: bool) -> None:
        body = {"spec": {"unschedulable": on or None}}
        await self.client.patch(NODES, name, "", body, patch_type=PatchType.MERGE)

    async def has_nodes(self, count: int) -> bool:
        return len((await self.client.list(NODES)).items) == count

    async def delete_pod(self, pod: Document) -> None:
        await self.client.delete(PODS, pod["metadata"]["name"], "default")


def hosts(assignment: Document) -> Counter[str]:
    found: Counter[str] = Counter()
    for piece in assignment.get("slices") or ():
        values, counts = piece["valuesPerLevel"][-1], piece["podCounts"]
        for position in range(piece["domainCount"]):
            named = values.get("individual")
            middle = "" if named is None else named["roots"][position]
            name = (
                values["universal"] if named is None else f"{named.get('prefix', '')}{middle}{named.get('suffix', '')}"
            )
            found[name] += counts["universal"] if "universal" in counts else counts["individual"][position]
    return found


def index(pod: Document) -> int:
    return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def _living(pods: list[Document], job: str) -> list[Document]:
    return [
        pod
        for pod in pods
        if pod["metadata"].get("labels", {}).get("job-name") == job
        and pod["status"].get("phase") == "Running"
        and not pod["metadata"].get("deletionTimestamp")
    ]


def topology_documents(cpu: str, levels: tuple[str, ...]) -> list[tuple[ResourceType, Document]]:
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "tas", "resources": [{"name": "cpu", "nominalQuota": cpu}]}],
    }
    return [
        (TOPOLOGIES, _object("Topology", "default", {"levels": [{"nodeLabel": level} for level in levels]})),
        (RESOURCE_FLAVORS, _object("ResourceFlavor", "tas", {"nodeLabels": GROUP, "topologyName": "default"})),
        (CLUSTER_QUEUES, _object("ClusterQueue", "tas", {"namespaceSelector": {}, "resourceGroups": [group]})),
        (LOCAL_QUEUES, _object("LocalQueue", "user-queue", {"clusterQueue": "tas"}, "default")),
    ]


def _object(kind: str, name: str, spec: Document, namespace: str = "") -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}

"""Random clusters with topologies for properties: what the worker holds, and what its hub hears of it."""

import random

import msgspec

from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.views import WorkerView
from tests.conformance import engine_objects
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.engine import capacity
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState

NOW = timestamps.parse("2026-01-31T12:00:00Z")
BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
GROUP = {"example.com/group": "tas"}
_PLURALS = {
    "Namespace": "namespaces",
    "ResourceFlavor": "resourceflavors",
    "Topology": "topologies",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "Workload": "workloads",
}


class TopologyWorld:
    """One worker's state, and its hub's view of it, which sees no nodes and no pods."""

    def __init__(self, chance: random.Random, levels: tuple[str, ...] = (BLOCK, RACK, HOST)) -> None:
        self.chance = chance
        self.worker = ClusterState(DEFAULT)
        self.view = WorkerView("w", DEFAULT)
        for document in _configuration(levels):
            self.tell(document)
        for number in range(chance.randrange(1, 14)):
            engine_objects.put(self.worker, self._node(number), NOW)
        for number in range(chance.randrange(4)):
            engine_objects.put(self.worker, self._daemon(number), NOW)
        self.report()

    def tell(self, document: Document) -> None:
        """Both know it."""
        engine_objects.put(self.worker, document, NOW)
        metadata = document["metadata"]
        raw = msgspec.json.encode(document)
        plural = _PLURALS[document["kind"]]
        self.view.apply(KnowledgeEvent("w", plural, metadata.get("namespace", ""), metadata["name"], raw), NOW)

    def report(self) -> None:
        status = capacity.report(self.worker, DEFAULT, NOW, ["batch/job"])
        raw = msgspec.json.encode({"metadata": {"name": "this"}, "status": status})
        self.view.apply(KnowledgeEvent("w", "clustercapacities", "", "this", raw), NOW)

    def _node(self, number: int) -> Document:
        chance = self.chance
        host = f"host-{number}" if chance.random() < 0.8 else f"other{chance.randrange(100)}-{number}x"
        labels = {**GROUP, BLOCK: f"b{chance.randrange(2)}", RACK: f"r{chance.randrange(3)}", HOST: host}
        labels |= {"example.com/disk": chance.choice(["fast", "slow"])}
        taints = [{"key": "gpu", "value": "v", "effect": "NoSchedule"}] if chance.random() < 0.2 else []
        return {
            "kind": "Node",
            "metadata": {"name": host, "labels": labels},
            "spec": {"taints": taints},
            "status": {
                "allocatable": {"cpu": chance.choice(["1", "2500m", "4", "8"]), "memory": "8Gi", "pods": "10"},
                "conditions": [{"type": "Ready", "status": chance.choice(["True", "True", "True", "False"])}],
            },
        }

    def _daemon(self, number: int) -> Document:
        container = {"name": "c", "resources": {"requests": {"cpu": "500m"}}}
        node = f"host-{self.chance.randrange(14)}"
        return {
            "kind": "Pod",
            "metadata": {"name": f"daemon-{number}", "namespace": "ns"},
            "spec": {"containers": [container], "nodeName": node},
            "status": {"phase": "Running"},
        }

    def workload(self, name: str) -> Document:
        chance = self.chance
        container = {"name": "c", "resources": {"requests": {"cpu": chance.choice(["500m", "1", "2"])}}}
        spec: Document = {"containers": [container]}
        if chance.random() < 0.2:
            spec["tolerations"] = [{"operator": "Exists"}]
        pod_set = {"name": "main", "count": chance.randrange(1, 9), "template": {"spec": spec}}
        request = self._request()
        if request:
            pod_set["topologyRequest"] = request
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": "2026-01-31T12:00:00Z"},
            "spec": {"queueName": "lq", "priority": chance.randrange(3), "podSets": [pod_set]},
        }

    def _request(self) -> Document:
        chance = self.chance
        level = chance.choice([BLOCK, RACK, HOST])
        found: Document = chance.choice([{"required": level}, {"preferred": level}, {"unconstrained": True}, {}])
        if found and chance.random() < 0.3 and level != HOST:
            found = {**found, "podSetSliceRequiredTopology": HOST, "podSetSliceSize": 2}
        return found


def reserved(document: Document, admission: Document) -> Document:
    """The workload as admitted."""
    stamp = {"message": "", "lastTransitionTime": "2026-01-31T12:00:00Z"}
    conditions = [{"type": t, "status": "True", "reason": t, **stamp} for t in ("QuotaReserved", "Admitted")]
    return {**document, "status": {"admission": admission, "conditions": conditions}}


def _configuration(levels: tuple[str, ...]) -> list[Document]:
    quota = [{"name": "cpu", "nominalQuota": "20"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "tas", "resources": quota}]}
    preemption = {"withinClusterQueue": "LowerPriority"}
    queue = {"namespaceSelector": {}, "resourceGroups": [group], "preemption": preemption}
    return [
        {"kind": "Namespace", "metadata": {"name": "ns"}},
        {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": n} for n in levels]}},
        {"kind": "ResourceFlavor", "metadata": {"name": "tas"}, "spec": {"nodeLabels": GROUP, "topologyName": "t"}},
        {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": queue},
        {"kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": "cq"}},
    ]

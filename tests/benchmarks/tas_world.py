"""The nodes, queues and requests of the reference's topology measurements, in our engine."""

import gzip
import json
from pathlib import Path
from typing import Final

from tests.conformance import engine_objects
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import NodeAffinity
from worker_agent.api.workload import PodSetTopologyRequest
from worker_agent.engine import policy
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas.ask import PodDemand, PodSetAsk

OBJECTS: Final = Path(__file__).parents[2].parent / "shared" / "perf"
START: Final = timestamps.parse("2026-01-01T12:00:00Z")
RACK, BLOCK, HOST = "topology.example.com/rack", "topology.example.com/block", "kubernetes.io/hostname"
QUEUES: Final = 50
PODS: Final = 256
SIZES: Final = (640, 10_000, 40_000)
REQUESTS: Final[dict[str, tuple[int, Document]]] = {
    "required-rack": (4, {"required": RACK}),
    "preferred-block": (4, {"preferred": BLOCK}),
    "preferred-block-one-pod-per-node": (90, {"preferred": BLOCK}),
    "unconstrained": (4, {"unconstrained": True}),
    "required-rack-infeasible": (90, {"required": RACK}),
}
"""The reference's: cpu of a pod and its request."""

_SLICES = {"podSetSliceRequiredTopology": HOST, "podSetSliceSize": 4}
_AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "Exists"}]}]
    }
}


def objects(nodes: int, folder: Path = OBJECTS) -> Document:
    found: Document = json.loads(gzip.decompress((folder / f"p3-nodes-{nodes}.json.gz").read_bytes()))
    return found


def build(found: Document) -> ClusterState:
    """Three in ten nodes hold a pod; fifty queues share the flavor."""
    state = ClusterState(policy.resolve({}))
    queue = found["clusterQueue"]
    queues = [{**queue, "metadata": {"name": _queue(i)}} for i in range(QUEUES)]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    local = [_local_queue(q["metadata"]["name"]) for q in queues]
    known = [namespace, *found["nodes"], found["flavor"], found["topology"], *queues, *local]
    engine_objects.load(state, known, START)
    for number, document in enumerate(_prefilled(found)):
        engine_objects.put(state, {**document, "metadata": {**document["metadata"], "uid": f"old-{number}"}}, START)
    return state


def _queue(number: int) -> str:
    return f"tas-{number}" if number else "tas"


def _local_queue(name: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def pod_set(count: int, cpu: int, request: Document) -> Document:
    container = {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container]}}
    return {"name": "main", "count": count, "template": template, "topologyRequest": request}


def _prefilled(found: Document) -> list[Document]:
    """Of ten nodes, the first three hold one pod of 40 cpu each."""
    hosts = [node["metadata"]["labels"][HOST] for node in found["nodes"]]
    return [_placed(f"old-{i}", host) for i, host in enumerate(hosts) if i % 10 < 3]


def _placed(name: str, host: str) -> Document:
    values = [{"universal": host}]
    slices = [{"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": values}]
    assignment = {
        "name": "main",
        "count": 1,
        "flavors": {"cpu": "tas"},
        "resourceUsage": {"cpu": "40"},
        "topologyAssignment": {"levels": [HOST], "slices": slices},
    }
    conditions = [{"type": t, "status": "True", "reason": "x"} for t in ("QuotaReserved", "Admitted")]
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"queueName": "tas", "podSets": [pod_set(1, 40, {"unconstrained": True})]},
        "status": {
            "admission": {"clusterQueue": "tas", "podSetAssignments": [assignment]},
            "conditions": conditions,
        },
    }


def put_waiting(state: ClusterState, number: int, cpu: int, request: Document) -> None:
    """A new workload at the head of queue ``number``, in place of the one before."""
    key = leave(state, number)
    spec = {"queueName": _queue(number), "podSets": [pod_set(PODS, cpu, request)]}
    metadata = {"name": key.name, "namespace": key.namespace, "uid": key.name}
    engine_objects.put(state, {"kind": "Workload", "metadata": metadata, "spec": spec}, START)


def leave(state: ClusterState, number: int) -> Key:
    """The workload of queue ``number`` is gone, whether it waited or ran."""
    key = Key("default", f"new-{number}")
    state.delete_workload(key, START)
    return key


def asks(cpu: int, request: Document, with_what: str = "") -> list[PodSetAsk]:
    """``with_what``: slices, leader or affinity beside the request itself."""
    asked = {**request, **(_SLICES if with_what == "slices" else {})}
    view = engine_objects.decode(asked, PodSetTopologyRequest)
    affinity = engine_objects.decode(_AFFINITY, NodeAffinity) if with_what == "affinity" else None
    demand = PodDemand(affinity=affinity)
    group = "g" if with_what == "leader" else None
    workers = PodSetAsk("main", PODS, {"cpu": cpu * 1000}, view, demand, group=group)
    if group is None:
        return [workers]
    return [PodSetAsk("leader", 1, {"cpu": 8000}, view, demand, group=group), workers]

"""API objects of a recorded case, loaded into a ClusterState the way informers would."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from tests.conformance.case import Document
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Namespace
from worker_agent.api.pod import LimitRange, Node, Pod, PriorityClass, RuntimeClass
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.topology import Topology
from worker_agent.api.workload import Workload
from worker_agent.engine.state import ClusterState

ORDER = (
    "Namespace",
    "WorkloadPriorityClass",
    "Node",
    "Pod",
    "LimitRange",
    "RuntimeClass",
    "PriorityClass",
    "AdmissionCheck",
    "ResourceFlavor",
    "Topology",
    "Cohort",
    "ClusterQueue",
    "LocalQueue",
)
"""Kinds in the order in which they are loaded; Workloads come last."""

_KINDS: dict[str, tuple[type[Any], str]] = {
    "Namespace": (Namespace, "put_namespace"),
    "Node": (Node, "put_node"),
    "Pod": (Pod, "put_pod"),
    "LimitRange": (LimitRange, "put_limit_range"),
    "RuntimeClass": (RuntimeClass, "put_runtime_class"),
    "PriorityClass": (PriorityClass, "put_priority_class"),
    "AdmissionCheck": (AdmissionCheck, "put_admission_check"),
    "ResourceFlavor": (ResourceFlavor, "put_resource_flavor"),
    "Topology": (Topology, "put_topology"),
    "Cohort": (Cohort, "put_cohort"),
    "ClusterQueue": (ClusterQueue, "put_cluster_queue"),
    "LocalQueue": (LocalQueue, "put_local_queue"),
}


def decode(document: Document, kind: type[Any]) -> Any:
    """The typed view of a document."""
    return msgspec.json.decode(msgspec.json.encode(document), type=kind)


def put(state: ClusterState, document: Document, now: datetime) -> Any:
    """Load one object; kinds the engine does not read are left out. Returns what the state says."""
    if document["kind"] == "Workload":
        return state.put_workload(decode(document, Workload), now)
    if document["kind"] not in _KINDS:
        return None
    view, method = _KINDS[document["kind"]]
    load: Callable[[Any], Any] = getattr(state, method)
    return load(decode(document, view))


def load(state: ClusterState, objects: Iterable[Document], now: datetime) -> None:
    """Load all objects, kind by kind."""
    place = {kind: index for index, kind in enumerate(ORDER)}
    for document in sorted(objects, key=lambda o: place.get(o["kind"], len(place))):
        put(state, document, now)


def key_of(document: Document) -> Key:
    metadata = document["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])

"""Pods of the jobs that queues manage, found by Workload or by node, each in its newest version known.

The ungater and the node controller share it. Of a pod the documents hold what those two decide by.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import PODS
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.tas import ungating

WORKLOAD_INDEX: Final = "workload"
"""``namespace/name`` of the first slice of the Workload that the pod runs for."""

NODE_INDEX: Final = "node"
"""Nodes that the pod is bound to, or waits for and no other."""


def slice_of(pod: Pod) -> str:
    """Empty for a pod that no queue manages."""
    annotations = pod.metadata.annotations
    if not annotations:
        return ""
    named = annotations.get(names.WORKLOAD_SLICE_NAME_ANNOTATION) or annotations.get(names.WORKLOAD_ANNOTATION)
    return f"{pod.metadata.namespace}/{named}" if named else ""


def nodes_of(pod: Pod) -> Iterable[str]:
    """The node it is bound to, and the one that its node selector names."""
    pinned = (pod.spec.node_selector or {}).get(HOSTNAME_LABEL, "")
    return {name for name in (pod.spec.node_name, pinned) if name}


def is_gated(pod: Pod) -> bool:
    return any(gate.get("name") == names.TOPOLOGY_SCHEDULING_GATE for gate in pod.spec.scheduling_gates or ())


class TopologyPods:
    """Indexes the informer of pods of ``known``."""

    def __init__(self, known: KnownObjects) -> None:
        self._known = known
        self.informer = known.informer(PODS)
        self.informer.add_index(WORKLOAD_INDEX, _slices)
        self.informer.add_index(NODE_INDEX, _nodes)

    def of(self, workload: Document) -> list[Document]:
        """Pods of the Workload and of all slices of its job, in order of arrival."""
        namespace = workload["metadata"].get("namespace", "")
        return list(self._newest(WORKLOAD_INDEX, f"{namespace}/{ungating.slice_name(workload)}"))

    def any_on(self, node: str) -> bool:
        return bool(self.informer.by_index(NODE_INDEX, node))

    def on(self, node: str) -> list[Document]:
        return list(self._newest(NODE_INDEX, node))

    def _newest(self, index: str, value: str) -> Iterator[Document]:
        for pod in self.informer.by_index(index, value):
            written = self._known.written(PODS, Key(pod.metadata.namespace, pod.metadata.name))
            yield _document(pod) if written is None else written


def _slices(pod: Pod) -> Iterable[str]:
    found = slice_of(pod)
    return (found,) if found else ()


def _nodes(pod: Pod) -> Iterable[str]:
    return nodes_of(pod) if slice_of(pod) else ()


def _document(pod: Pod) -> Document:
    """Without the containers: a Workload may have thousands of pods."""
    metadata, spec = pod.metadata, pod.spec
    identity: Document = {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "labels": metadata.labels or {},
        "annotations": metadata.annotations or {},
    }
    if metadata.deletion_timestamp is not None:
        identity["deletionTimestamp"] = metadata.deletion_timestamp
    return {
        "metadata": identity,
        "spec": {
            "nodeName": spec.node_name,
            "nodeSelector": spec.node_selector or {},
            "schedulingGates": spec.scheduling_gates or [],
        },
        "status": {"phase": pod.status.phase},
    }

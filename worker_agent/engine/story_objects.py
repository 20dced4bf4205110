"""Objects of a scenario or a recording: documents on one side, typed views in a ClusterState on the other.

Bad documents are refused with the place and the field, since people write them by hand.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from worker_agent.api import quantity
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.device import DeviceClass, ResourceClaimTemplate, ResourceSlice
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Namespace
from worker_agent.api.pod import LimitRange, Node, Pod, PriorityClass, RuntimeClass
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.topology import Topology
from worker_agent.api.workload import Workload
from worker_agent.engine.state import ClusterState


class StoryError(ValueError):
    """A scenario or recording cannot be played; the text names the place, the value and what would do."""


_VIEWS: Final[dict[str, tuple[type[Any], str]]] = {
    "Namespace": (Namespace, "namespace"),
    "Node": (Node, "node"),
    "Pod": (Pod, "pod"),
    "LimitRange": (LimitRange, "limit_range"),
    "RuntimeClass": (RuntimeClass, "runtime_class"),
    "PriorityClass": (PriorityClass, "priority_class"),
    "AdmissionCheck": (AdmissionCheck, "admission_check"),
    "ResourceFlavor": (ResourceFlavor, "resource_flavor"),
    "Topology": (Topology, "topology"),
    "Cohort": (Cohort, "cohort"),
    "ClusterQueue": (ClusterQueue, "cluster_queue"),
    "LocalQueue": (LocalQueue, "local_queue"),
    "DeviceClass": (DeviceClass, "device_class"),
    "ResourceSlice": (ResourceSlice, "resource_slice"),
    "ResourceClaimTemplate": (ResourceClaimTemplate, "resource_claim_template"),
}
"""Kind -> view and what ClusterState calls it, in the order of loading. Workloads come last."""

WORKLOAD: Final = "Workload"
KINDS: Final = (*_VIEWS, WORKLOAD)
IGNORED: Final = frozenset({"WorkloadPriorityClass"})
"""Kinds that may stand in a scenario and that the engine does not read."""

_NAMESPACED: Final = frozenset({WORKLOAD, "LocalQueue", "LimitRange", "Pod", "ResourceClaimTemplate"})
_ORDER: Final = {kind: place for place, kind in enumerate(_VIEWS)}


def key_of(document: Document) -> Key:
    """Raises StoryError for an object without a name."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not name:
        raise StoryError(f"{document.get('kind') or 'object'}: metadata.name: must be given")
    return Key(str(metadata.get("namespace") or ""), str(name))


def put(state: ClusterState, document: Document, now: datetime) -> Any:
    """Show one object to the engine; returns what the state says to it.

    Raises StoryError for an unknown kind or a document that cannot be read.
    """
    kind = document.get("kind")
    if kind in IGNORED:
        return None
    if kind != WORKLOAD and kind not in _VIEWS:
        raise StoryError(f"kind: {kind!r}: must be one of {', '.join(KINDS)}")
    return put_view(state, str(kind), decode(document, Workload if kind == WORKLOAD else _VIEWS[str(kind)][0]), now)


def put_view(state: ClusterState, kind: str, view: Any, now: datetime) -> Any:
    """The same for an object that was decoded already; ``kind`` is one of KINDS."""
    try:
        if kind == WORKLOAD:
            return state.put_workload(view, now)
        taken: Callable[[Any], object] = getattr(state, f"put_{_VIEWS[kind][1]}")
        return taken(view)
    except quantity.QuantityError as error:
        raise StoryError(f"{kind} {str(view.metadata.key).removeprefix('/')}: {error}") from None


def remove(state: ClusterState, kind: str, key: Key, now: datetime) -> None:
    """The object is gone."""
    if kind == WORKLOAD:
        state.delete_workload(key, now)
    elif kind in _VIEWS:
        gone: Callable[[Any], object] = getattr(state, f"delete_{_VIEWS[kind][1]}")
        gone(key if kind in _NAMESPACED else key.name)
    elif kind not in IGNORED:
        raise StoryError(f"kind: {kind!r}: must be one of {', '.join(KINDS)}")


def load(state: ClusterState, documents: Iterable[Document], now: datetime) -> None:
    """Show all objects, kind by kind, Workloads last in the order given."""
    for document in sorted(documents, key=lambda found: _ORDER.get(str(found.get("kind")), len(_ORDER))):
        put(state, document, now)


def decode(document: Document, view: type[Any]) -> Any:
    """The typed view of a document. Raises StoryError."""
    try:
        # By way of JSON text, because pod templates are kept as the text they came in.
        return msgspec.json.decode(msgspec.json.encode(document), type=view, strict=False)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise StoryError(f"{document.get('kind')} {key_of(document)}: {error}") from None

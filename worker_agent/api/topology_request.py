"""A pod set's topology request, read from the annotations of its pod template (spec/tas section 3)."""

import json
from dataclasses import dataclass
from typing import Any, Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_sets_unknown import PodSetsUnknown

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
MAX_LAYERS: Final = 3


class TopologyRequestError(PodSetsUnknown):
    """The annotations cannot be read, so the job's pod sets are unknown."""


@dataclass(frozen=True, slots=True)
class PodIndex:
    """What a kind adds by itself: the label of a pod's index, and how the pod set falls into sub-groups."""

    label: str = ""
    sub_group_label: str = ""
    sub_group_count: int | None = None

    def __bool__(self) -> bool:
        return bool(self.label or self.sub_group_label or self.sub_group_count is not None)


def parse_bool(text: str) -> bool:
    """``text`` as Go's strconv.ParseBool reads it. Raises ValueError with its message."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"strconv.ParseBool: parsing {json.dumps(text)}: invalid syntax")


def derive(template: Document, index: PodIndex, policy: JobPolicy) -> Document | None:
    """The ``topologyRequest`` of a pod set; None when it asks for nothing. Raises TopologyRequestError."""
    if not policy.topology_aware:
        return None
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    placement = _placement(annotations)
    layers = _layers(annotations, policy)
    if placement is None and not layers and not index:
        return None
    request: Document = {**(placement or {}), **layers}
    group = annotations.get(names.POD_SET_GROUP_NAME_ANNOTATION)
    if group is not None and ("required" in request or "preferred" in request):
        request["podSetGroupName"] = group
    if index.label:
        request["podIndexLabel"] = index.label
    if index.sub_group_label:
        request["subGroupIndexLabel"] = index.sub_group_label
    if index.sub_group_count is not None:
        request["subGroupCount"] = index.sub_group_count
    return request


def _placement(annotations: dict[str, str]) -> Document | None:
    """The first of required, preferred and unconstrained that is there."""
    if names.REQUIRED_TOPOLOGY_ANNOTATION in annotations:
        return {"required": annotations[names.REQUIRED_TOPOLOGY_ANNOTATION]}
    if names.PREFERRED_TOPOLOGY_ANNOTATION in annotations:
        return {"preferred": annotations[names.PREFERRED_TOPOLOGY_ANNOTATION]}
    unconstrained = annotations.get(names.UNCONSTRAINED_TOPOLOGY_ANNOTATION)
    if unconstrained is None:
        return None
    try:
        return {"unconstrained": parse_bool(unconstrained)}
    except ValueError as error:
        raise TopologyRequestError(str(error)) from error


def _layers(annotations: dict[str, str], policy: JobPolicy) -> Document:
    """The slice layers: the list wins over the pair, and the pair counts only when complete."""
    constraints = annotations.get(names.SLICE_CONSTRAINTS_ANNOTATION)
    if constraints is not None and policy.multi_layer_topology:
        return {"podsetSliceRequiredTopologyConstraints": parse_layers(constraints)}
    topology = annotations.get(names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION)
    size = annotations.get(names.SLICE_SIZE_ANNOTATION)
    if topology is None or size is None:
        return {}
    return {"podSetSliceRequiredTopology": topology, "podSetSliceSize": _slice_size(size)}


def _slice_size(text: str) -> int:
    try:
        return parse_int32(text)
    except ValueError as error:
        raise TopologyRequestError(str(error)) from error


def parse_int32(text: str) -> int:
    """A base-10 int32 as Go's strconv.ParseInt reads it. Raises ValueError with its message."""
    return _parse_int(text, "ParseInt", 31)


def parse_int(text: str) -> int:
    """A base-10 integer as Go's strconv.Atoi reads it. Raises ValueError with its message."""
    return _parse_int(text, "Atoi", 63)


def _parse_int(text: str, function: str, bits: int) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"strconv.{function}: parsing {json.dumps(text)}: invalid syntax")
    number = int(text)
    if not -(2**bits) <= number < 2**bits:
        raise ValueError(f"strconv.{function}: parsing {json.dumps(text)}: value out of range")
    return number


def parse_layers(text: str) -> list[Document]:
    """The entries of the multi-layer annotation, ``[{topology, size}]``. Raises TopologyRequestError."""
    try:
        layers = read_layers(text)
    except ValueError as error:
        told = f"failed to parse multi-layer topology constraints annotation: {error}"
        raise TopologyRequestError(told) from error
    if not 1 <= len(layers) <= MAX_LAYERS:
        raise TopologyRequestError(f"topology constraints must contain between 1 and 3 entries: got {len(layers)}")
    return [{"topology": topology, "size": size} for topology, size in layers]


def read_layers(text: str) -> list[tuple[str, int]]:
    """Topology and size of each layer, unchecked; what is left out is "" and 0. Raises ValueError."""
    entries: Any = json.loads(text)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("expected a list of objects with topology and size")
    layers: list[tuple[str, int]] = []
    for entry in entries:
        topology, size = entry.get("topology", ""), entry.get("size", 0)
        if not isinstance(topology, str) or not isinstance(size, int) or isinstance(size, bool):
            raise ValueError("topology must be a string and size an integer")
        layers.append((topology, size))
    return layers

"""The multi-layer annotation: a JSON list of slice layers (spec/jobs section 8, spec/tas section 3 rule 8)."""

import json
from typing import Any, Final

from worker_agent.api import names
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.topology_request import MAX_LAYERS
from worker_agent.validation.field_error import FieldError, duplicate, forbidden, invalid
from worker_agent.validation.formats import label_key

LAYERS: Final = names.SLICE_CONSTRAINTS_ANNOTATION


def errors(annotations: dict[str, str], path: str, policy: JobPolicy) -> list[FieldError]:
    """One to three layers, coarsest first: distinct levels, each size a divisor of the one before it."""
    text = annotations.get(LAYERS)
    if text is None:
        return []
    place = f"{path}[{LAYERS}]"
    if not policy.multi_layer_topology:
        message = "the TASMultiLayerTopology feature gate must be enabled to use this annotation"
        return [forbidden(place, message)]
    found: list[FieldError] = []
    for other in (names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION, names.SLICE_SIZE_ANNOTATION):
        if other in annotations:
            found.append(forbidden(place, f"may not be set when '{other}' is specified"))
    if names.POD_SET_GROUP_NAME_ANNOTATION in annotations:
        group = f"{path}[{names.POD_SET_GROUP_NAME_ANNOTATION}]"
        found.append(forbidden(group, f"may not be set when '{LAYERS}' is specified"))
    return found + _list_errors(text, place)


def _list_errors(text: str, place: str) -> list[FieldError]:
    layers, why = _read(text)
    if layers is None:
        return [invalid(place, text, f"must be a valid JSON array: {why}")]
    if not 1 <= len(layers) <= MAX_LAYERS:
        return [invalid(place, text, f"must contain between 1 and 3 entries: got {len(layers)}")]
    found: list[FieldError] = []
    seen: dict[str, int] = {}
    for index, (topology, size) in enumerate(layers):
        found += [invalid(f"{place}[{index}].topology", topology, error) for error in label_key(topology)]
        if topology in seen:
            message = f"{topology} (also at index {seen[topology]})"
            found.append(duplicate(f"{place}[{index}].topology", message))
        seen.setdefault(topology, index)
        found += _size_errors(f"{place}[{index}].size", size, layers[index - 1][1] if index else None)
    return found


def _size_errors(place: str, size: int, parent: int | None) -> list[FieldError]:
    if size < 1:
        return [invalid(place, size, "must be greater than or equal to 1")]
    if parent is not None and parent > 0 and parent % size:
        return [invalid(place, size, f"must evenly divide the parent layer size {parent}")]
    return []


def _read(text: str) -> tuple[list[tuple[str, int]] | None, str]:
    try:
        entries: Any = json.loads(text)
    except ValueError as error:
        return None, str(error)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None, "expected a list of objects with topology and size"
    layers: list[tuple[str, int]] = []
    for entry in entries:
        topology, size = entry.get("topology", ""), entry.get("size", 0)
        if not isinstance(topology, str) or not isinstance(size, int) or isinstance(size, bool):
            return None, "topology must be a string and size an integer"
        layers.append((topology, size))
    return layers, ""


def count_errors(annotations: dict[str, str], path: str, count: int, policy: JobPolicy) -> list[FieldError]:
    """The coarsest layer must not be larger than the pod set."""
    text = annotations.get(LAYERS)
    if text is None or not policy.multi_layer_topology:
        return []
    layers, _ = _read(text)
    if not layers or layers[0][1] <= count:
        return []
    return [invalid(f"{path}[{LAYERS}]", text, f"must not be greater than pod set count {count}")]

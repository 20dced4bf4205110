"""The multi-layer annotation: a JSON list of slice layers (spec/jobs section 8, spec/tas section 3 rule 8)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.topology_request import MAX_LAYERS, read_layers
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
    try:
        layers = read_layers(text)
    except ValueError as error:
        return [invalid(place, text, f"must be a valid JSON array: {error}")]
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


def count_errors(annotations: dict[str, str], path: str, count: int, policy: JobPolicy) -> list[FieldError]:
    """The coarsest layer must not be larger than the pod set."""
    text = annotations.get(LAYERS)
    if text is None or not policy.multi_layer_topology:
        return []
    try:
        layers = read_layers(text)
    except ValueError:
        return []
    if not layers or layers[0][1] <= count:
        return []
    return [invalid(f"{path}[{LAYERS}]", text, f"must not be greater than pod set count {count}")]

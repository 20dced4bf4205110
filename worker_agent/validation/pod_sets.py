"""The pod sets of a Workload: requests, metadata and topology request of each (spec/engine 2.5)."""

from collections.abc import Iterator
from typing import Any

from worker_agent.api.document import Document, get
from worker_agent.api.names import PODS_RESOURCE
from worker_agent.validation import metadata, quantities
from worker_agent.validation.field_error import FieldError, forbidden, invalid, required
from worker_agent.validation.policy import ValidationPolicy


def validate_pod_set(pod_set: Document, path: str, policy: ValidationPolicy) -> list[FieldError]:
    """All violations of one pod set."""
    errors = []
    for resources, where in _resources(get(pod_set, "template.spec") or {}, f"{path}.template.spec"):
        for kind in ("requests", "limits"):
            errors += _amounts(resources.get(kind) or {}, f"{where}.{kind}", policy)
    if policy.pod_set_metadata:
        template = f"{path}.template.metadata"
        errors += metadata.labels(get(pod_set, "template.metadata.labels"), f"{template}.labels")
        errors += metadata.annotations(get(pod_set, "template.metadata.annotations"), f"{template}.annotations")
    if policy.slice_size:
        errors += _slice_sizes(pod_set.get("topologyRequest") or {}, f"{path}.topologyRequest")
    return errors


def _resources(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container.get("resources") or {}, f"{path}.{kind}[{index}].resources"
    yield spec.get("resources") or {}, f"{path}.resources"


def _amounts(amounts: dict[str, Any], path: str, policy: ValidationPolicy) -> list[FieldError]:
    errors = []
    for name, amount in amounts.items():
        here = f"{path}[{name}]"
        if name == PODS_RESOURCE:
            errors.append(invalid(here, name, "the key is reserved for internal kueue use"))
        if policy.non_negative_resources:
            errors += quantities.not_negative(amount, here)
    return errors


def _slice_sizes(request: Document, path: str) -> list[FieldError]:
    topology, size = request.get("podSetSliceRequiredTopology"), request.get("podSetSliceSize")
    here = f"{path}.podSetSliceSize"
    errors = []
    if topology is not None and size is None:
        errors.append(required(here, "must be set when podSetSliceRequiredTopology is set"))
    elif topology is None and size is not None:
        errors.append(forbidden(here, "may only be set together with podSetSliceRequiredTopology"))
    elif size is not None:
        errors += _positive(size, here)
    for index, constraint in enumerate(request.get("podsetSliceRequiredTopologyConstraints") or ()):
        where = f"{path}.podsetSliceRequiredTopologyConstraints[{index}].size"
        errors += _positive(constraint.get("size") or 0, where)
    return errors


def _positive(size: int, path: str) -> list[FieldError]:
    return [] if size > 0 else [invalid(path, size, "must be greater than 0")]

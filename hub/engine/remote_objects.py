"""Workloads as they go to a worker and are compared there, and whose a remote object is (spec sections 8 and 10.2)."""

from typing import Any, Final

from hub.engine.remote_group import SyncPolicy
from worker_agent.api import document as documents
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS, ResourceType


def key_of(document: Document) -> Key:
    metadata = document["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def origin_of(document: Document) -> str:
    labels = document.get("metadata", {}).get("labels") or {}
    return str(labels.get(names.MULTIKUEUE_ORIGIN_LABEL, ""))


def is_ours(document: Document, origin: str) -> bool:
    return bool(origin) and origin_of(document) == origin


def may_be_ours(copy: Document, local: Document, origin: str) -> bool:
    """Whether a Workload of the right name is our copy: it bears our origin; or it bears none, has no owner, and says
    exactly what ours says.

    A worker's user or another manager may have a Workload of the same name; theirs is neither read nor removed.
    """
    if origin_of(copy):
        return is_ours(copy, origin)
    return not copy["metadata"].get("ownerReferences") and same_spec(copy, local)


FOREIGN: Final = "remote object is not owned by MultiKueue"


def tells_of_foreign(message: str) -> bool:
    """Whether an error is one of ``foreign_object``."""
    return FOREIGN in message


def foreign_object(resource: ResourceType, key: Key, origin: str) -> str:
    """The error for an object of somebody else in the place where ours should be."""
    return f'{FOREIGN}: expected "{names.MULTIKUEUE_ORIGIN_LABEL}"="{origin}" on {resource.kind} "{key}"'


def workload_copy(local: Document, policy: SyncPolicy, *, gated: bool = True) -> Document:
    """The Workload as it is created on a worker: same name, labels, annotations and spec, no owner and no finalizer.

    ``gated`` puts our preemption gate in place of the Workload's own ones where preemption is orchestrated.
    """
    metadata = local["metadata"]
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != names.JOB_UID_LABEL}
    copied: Document = {"name": metadata["name"]}
    if metadata.get("namespace"):
        copied["namespace"] = metadata["namespace"]
    copied["labels"] = {**labels, names.MULTIKUEUE_ORIGIN_LABEL: policy.origin}
    if metadata.get("annotations"):
        copied["annotations"] = dict(metadata["annotations"])
    spec = dict(local.get("spec") or {})
    if gated and policy.orchestrated_preemption:
        spec["preemptionGates"] = [{"name": names.MULTIKUEUE_PREEMPTION_GATE}]
    return {"apiVersion": WORKLOADS.api_version, "kind": WORKLOADS.kind, "metadata": copied, "spec": spec}


def lean(value: Any) -> Any:
    """``value`` without nulls and empty lists and objects, so that two servers' ways of saying "nothing" are equal."""
    if isinstance(value, dict):
        kept = ((name, lean(inner)) for name, inner in value.items())
        return {name: inner for name, inner in kept if inner is not None and inner not in ({}, [])}
    if isinstance(value, list):
        return [lean(inner) for inner in value]
    return value


def same_spec(copy: Document, local: Document) -> bool:
    """Whether both say the same but for their preemption gates; nearly always they do so word for word."""
    return copy.get("spec") == local.get("spec") or comparable_spec(copy) == comparable_spec(local)


def comparable_spec(workload: Document) -> Document:
    """The part of a Workload's spec that must agree between manager and worker: all but the preemption gates."""
    spec = documents.get(workload, "spec", {})
    compared: Document = lean({name: value for name, value in spec.items() if name != "preemptionGates"})
    return compared

"""What an operator wants done for one of its objects."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from worker_agent.api.document import Document, at, get
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.timestamps import rfc3339

Children = Mapping[ResourceType, Sequence[Document]]
"""The objects that the operator's object controls, by kind, each list by name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``create`` and ``delete`` are child objects, ``status`` is the whole status; None leaves it as it is.

    ``look_again``: in so many seconds something is due that no watch tells of.
    """

    create: Sequence[tuple[ResourceType, Document]] = ()
    delete: Sequence[tuple[ResourceType, Document]] = ()
    change: Sequence[tuple[ResourceType, Document, Document]] = field(default_factory=tuple)
    status: Document | None = None
    look_again: float | None = None


Decide = Callable[[Document, Children, datetime], Plan]


@dataclass(frozen=True, slots=True)
class Kind:
    """One operator: its own kind, the kinds it makes, and how it decides."""

    resource: ResourceType
    children: tuple[ResourceType, ...]
    decide: Decide


def child(owner: Document, resource: ResourceType, name: str, **content: object) -> Document:
    """A new object that ``owner`` controls; ``content`` may hold labels, annotations and whole fields such as spec."""
    metadata: Document = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    for part in ("labels", "annotations"):
        if value := content.pop(part, None):
            metadata[part] = value
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}


def pod(owner: Document, name: str, template: Document, labels: Mapping[str, str], **spec: object) -> Document:
    """A pod of ``template`` that ``owner`` controls, with labels of the operator's own."""
    metadata = template.get("metadata") or {}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {**(template.get("spec") or {}), **spec},
    }
    made = child(owner, _PODS, name)["metadata"]
    made["labels"] = {**(metadata.get("labels") or {}), **labels}
    if metadata.get("annotations"):
        made["annotations"] = dict(metadata["annotations"])
    return {**document, "metadata": made}


_PODS = ResourceType("", "v1", "Pod", "pods")


def named(objects: Iterable[Document]) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in objects}


def phase(pod: Document) -> str:
    return str(get(pod, "status.phase", "Pending"))


def is_ready(document: Document) -> bool:
    return condition(document, "Ready") == "True"


def condition(document: Document, type_: str) -> str:
    conditions = at(document, ("status", "conditions"), [])
    return str(next((each.get("status") for each in conditions if each.get("type") == type_), ""))


def with_conditions(owner: Document, wanted: Mapping[str, tuple[bool, str, str]], now: datetime) -> list[Document]:
    """The owner's conditions with these (status, reason, message) set; the time moves when a status does."""
    present = {each["type"]: each for each in at(owner, ("status", "conditions"), [])}
    for type_, (holds, reason, message) in wanted.items():
        status, before = str(holds), present.get(type_)
        if before is not None and (before["status"], before.get("reason")) == (status, reason):
            continue
        since = rfc3339(now) if before is None or before["status"] != status else before["lastTransitionTime"]
        told = {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}
        present[type_] = told
    return list(present.values())


def is_finished(owner: Document, *types: str) -> bool:
    return any(condition(owner, type_) == "True" for type_ in types)


def settled(
    wanted: Mapping[str, Document], present: Sequence[Document], resource: ResourceType
) -> tuple[list[tuple[ResourceType, Document]], list[tuple[ResourceType, Document]]]:
    """Objects to create and to delete so that those of ``wanted`` are there, by name, and no others."""
    known = named(present)
    missing = [(resource, document) for name, document in wanted.items() if name not in known]
    extra = [
        (resource, document)
        for name, document in known.items()
        if name not in wanted and not document["metadata"].get("deletionTimestamp")
    ]
    return missing, extra

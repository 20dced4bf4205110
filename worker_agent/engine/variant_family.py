"""One Workload and its variants as documents, and the changes decided on them in one pass (spec/engine 23)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from worker_agent.api import names, workload_name
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import reservation
from worker_agent.engine.intents import (
    WORKLOAD_CONTROLLER_MANAGER,
    CreateObject,
    Intent,
    PatchObject,
    RecordEvent,
)
from worker_agent.engine.workload_status import StatusDraft

GATE: Final = names.CONCURRENT_ADMISSION_PREEMPTION_GATE

_HASH: Final = re.compile("-[0-9a-f]{5}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A parent, the Workloads it owns, and the ClusterQueue whose flavors they try (None: not known)."""

    parent: Document
    variants: tuple[Document, ...] = ()
    cluster_queue: ClusterQueue | None = None
    short_names: bool = False
    """Names of new variants stay within a label value."""

    @property
    def flavors(self) -> list[str]:
        """The most favorable first. The policy is for queues of one resource group."""
        groups = self.cluster_queue.spec.resource_groups if self.cluster_queue else None
        return [flavor.name for flavor in groups[0].flavors] if groups else []

    @property
    def mode(self) -> str:
        policy = self.cluster_queue.spec.concurrent_admission_policy if self.cluster_queue else None
        return (policy.migration.mode if policy else "") or names.TRY_PREFERRED_FLAVORS

    @property
    def last_acceptable(self) -> str:
        """Flavors behind it are not tried once a variant is admitted; empty: all are."""
        policy = self.cluster_queue.spec.concurrent_admission_policy if self.cluster_queue else None
        constraints = policy.migration.constraints if policy else None
        last = constraints.last_acceptable_flavor_name if constraints else ""
        return last if last in self.flavors else ""


def is_parent(workload: Document) -> bool:
    labels = (workload.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(names.CONCURRENT_ADMISSION_PARENT_LABEL) == "true")


def parent_of(workload: Document) -> Key | None:
    """Whose variant this Workload is; None where it is none."""
    metadata = workload.get("metadata") or {}
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == WORKLOADS.kind and owner.get("apiVersion") == WORKLOADS.api_version:
            return Key(metadata.get("namespace", ""), owner["name"])
    return None


def flavor_of(variant: Document) -> str:
    annotations = (variant.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(names.ALLOWED_FLAVORS_ANNOTATION, ""))


def variant_for(parent: Document, flavor: str, short_name: bool = False) -> CreateObject:
    """The Workload that tries this one flavor: a copy of its parent that owns nothing and preempts only when told."""
    metadata = parent["metadata"]
    labels = {
        name: value
        for name, value in (metadata.get("labels") or {}).items()
        if name != names.CONCURRENT_ADMISSION_PARENT_LABEL
    }
    annotations = {**(metadata.get("annotations") or {}), names.ALLOWED_FLAVORS_ANNOTATION: flavor}
    spec = parent.get("spec") or {}
    gates = list(spec.get("preemptionGates") or ())
    if all(gate["name"] != GATE for gate in gates):
        gates.append({"name": GATE})
    owner = {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    document = {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": _name(metadata["name"], metadata.get("uid", ""), flavor, short_name),
            "namespace": metadata.get("namespace", ""),
            **({"labels": labels} if labels else {}),
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": {**spec, "preemptionGates": gates},
    }
    return CreateObject(
        resource=WORKLOADS, document=document, field_manager=WORKLOAD_CONTROLLER_MANAGER, may_exist=True
    )


def _name(parent: str, uid: str, flavor: str, short: bool) -> str:
    """``<parent without its hash>-variant-<flavor>-<hash>``."""
    prefix = f"{_HASH.sub('', parent)}-variant-{flavor}"
    return workload_name.with_hash(prefix, ("", "", parent, uid, flavor), short=short)


@dataclass(slots=True)
class Member:
    """A Workload of the family while a decision is made: its status as it will be, and whether it will be active."""

    document: Document
    now: datetime
    draft: StatusDraft = field(init=False)
    active: bool = field(init=False)
    events: list[Intent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draft = StatusDraft(self.document, self.now)
        self.active = self._was_active

    @property
    def _was_active(self) -> bool:
        return (self.document.get("spec") or {}).get("active") is not False

    @property
    def key(self) -> Key:
        return self.draft.key

    @property
    def deleting(self) -> bool:
        return bool((self.document.get("metadata") or {}).get("deletionTimestamp"))

    @property
    def flavor(self) -> str:
        return flavor_of(self.document)

    @property
    def reserved(self) -> bool:
        return reservation.has_quota(self.draft.document)

    @property
    def admitted(self) -> bool:
        return self.draft.is_true(names.ADMITTED)

    @property
    def evicted(self) -> bool:
        return self.draft.is_true(names.EVICTED)

    @property
    def finished(self) -> bool:
        return self.draft.is_true(names.FINISHED)

    def event(self, reason: str, message: str) -> None:
        uid = (self.document.get("metadata") or {}).get("uid", "")
        self.events.append(RecordEvent(resource=WORKLOADS, key=self.key, reason=reason, message=message, uid=uid))

    def intents(self) -> Iterable[Intent]:
        if self.active != self._was_active:
            spec = {**(self.document.get("spec") or {}), "active": self.active}
            yield PatchObject(
                resource=WORKLOADS,
                before=self.document,
                after={**self.document, "spec": spec},
                field_manager=WORKLOAD_CONTROLLER_MANAGER,
            )
        yield from self.draft.intents()
        yield from self.events

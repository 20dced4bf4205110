"""A recorded cluster held in memory: what the hub reads of it, and what writes do to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from tests.conformance.case import Document
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.engine import feature_gates, intent_effects
from worker_agent.engine.intents import CreateObject, DeleteObject, Write


class CallFailed(Exception):
    """A call that the case says fails."""


@dataclass
class Cluster:
    """The objects of one API server, by kind and key."""

    objects: dict[tuple[str, Key], Document]
    failures: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Iterable[Document], failures: Mapping[str, str] | None = None) -> "Cluster":
        return cls({(o["kind"], key_of(o)): o for o in objects}, failures or {})

    def get(self, kind: str, key: Key) -> Document | None:
        if self.failures.get("get"):
            raise CallFailed(self.failures["get"])
        return self.objects.get((kind, key))

    def typed(self, kind: str, name: str, type_: type[Any]) -> Any:
        found = self.objects.get((kind, Key("", name)))
        return msgspec.convert(found, type_) if found is not None else None

    def of_kind(self, kind: str) -> list[Document]:
        return [document for (name, _), document in sorted(self.objects.items()) if name == kind]

    # What group_loading asks for.

    def workload(self, key: Key) -> Document | None:
        return self.get("Workload", key)

    def workloads_in(self, namespace: str) -> Iterable[Document]:
        return [document for document in self.of_kind("Workload") if key_of(document).namespace == namespace]

    def job(self, kind: JobKind, key: Key) -> Document | None:
        return self.get(kind.resource.kind, key)

    def admission_check(self, name: str) -> AdmissionCheck | None:
        found: AdmissionCheck | None = self.typed("AdmissionCheck", name, AdmissionCheck)
        return found

    def config(self, name: str) -> MultiKueueConfig | None:
        found: MultiKueueConfig | None = self.typed("MultiKueueConfig", name, MultiKueueConfig)
        return found

    def write(self, write: Write, now: datetime) -> None:
        call = {CreateObject: "create", DeleteObject: "delete"}.get(type(write), "")
        if self.failures.get(call):
            raise CallFailed(self.failures[call])
        place = (write.resource.kind, write.key)
        after = intent_effects.effect(write, self.objects.get(place), now)
        if after is None:
            self.objects.pop(place, None)
        else:
            self.objects[place] = after


def gates_of(case: Document) -> dict[str, bool]:
    return {**feature_gates.DEFAULTS, **(case.get("featureGates") or {})}


def key_of(document: Document) -> Key:
    metadata = document.get("metadata") or {}
    return Key(metadata.get("namespace", ""), metadata.get("name", ""))


def error_differs(wanted: str | None, got: str | None) -> list[str]:
    return [] if (wanted is None) == (got is None) else [f"error: expected {wanted}, got {got}"]

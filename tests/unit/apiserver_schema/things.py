"""A small CRD with one of everything, a registry that knows it, and short ways to ask that registry."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.schemas import GVK, Apply

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
STAMP = "2026-01-01T12:00:00Z"
THING = GVK("ex.io", "v1", "Thing")
JOB = GVK("batch", "v1", "Job")
POD = GVK("", "v1", "Pod")

TEXT = {"type": "string"}
ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "size": {"type": "integer"}, "weight": {"type": "integer", "default": 7}},
}
SPEC = {
    "type": "object",
    "x-kubernetes-validations": [
        {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low above high"}
    ],
    "properties": {
        "name": {"type": "string", "maxLength": 10, "pattern": "^[a-z]*$"},
        "count": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100},
        "on": {"type": "boolean", "default": True},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "when": {"type": "string", "format": "date-time"},
        "either": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": TEXT, "y": TEXT}},
        "words": {"type": "array", "items": TEXT, "maxItems": 3},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": ITEM,
        },
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": {"type": "object", "properties": {"z": TEXT}}},
        },
        "maybe": {"type": "string", "nullable": True},
        "deep": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": TEXT}}}},
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "cannot change"}],
        },
        "low": {"type": "integer"},
        "high": {"type": "integer"},
    },
}
CONDITION = {"type": "object", "required": ["type"], "properties": {"type": TEXT, "status": TEXT}}
STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string", "enum": ["A", "B"]},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": CONDITION,
        },
    },
}


def crd(spec: Any = SPEC, columns: Any = ()) -> Any:
    """The CRD of Thing; ``columns`` are its printer columns."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": STATUS}}},
        "additionalPrinterColumns": list(columns),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.ex.io"},
        "spec": {
            "group": "ex.io",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [version],
        },
    }


def registry_of(document: Any) -> SchemaRegistry:
    registry = SchemaRegistry()
    registry.add_crd(document)
    return registry


@cache
def things() -> SchemaRegistry:
    """The registry most tests share; they must not add to it."""
    return registry_of(crd())


def thing(**spec: Any) -> Any:
    metadata = {"name": "t", "namespace": "ns", "resourceVersion": "1"}
    return {"apiVersion": "ex.io/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def config(**spec: Any) -> Any:
    """What a user applies: no resourceVersion."""
    return {**thing(**spec), "metadata": {"name": "t", "namespace": "ns"}}


def complaints(new: Any, old: Any = None, subresource: str = "", registry: SchemaRegistry | None = None) -> list[str]:
    kind = GVK(*_group_version(new["apiVersion"]), new["kind"])
    return [str(error) for error in (registry or things()).validate(kind, new, old, subresource)]


def _group_version(text: str) -> tuple[str, str]:
    group, _, version = text.rpartition("/")
    return group, version


def apply(live: Any, applied: Any, manager: str = "a", force: bool = False, subresource: str = "") -> Any:
    kind = GVK(*_group_version(applied["apiVersion"]), applied["kind"])
    result = things().apply(kind, live, applied, Apply(manager, force, subresource, NOW))
    return {**result, "metadata": {**result["metadata"], "uid": "u", "resourceVersion": "1"}}


def fields(document: Any, manager: str, operation: str = "Apply", subresource: str = "") -> Any:
    """The fieldsV1 of one manager; None when it owns nothing."""
    for entry in document["metadata"].get("managedFields", ()):
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (manager, operation, subresource):
            return entry["fieldsV1"]
    return None


def job(**spec: Any) -> Any:
    """A Job as it is after defaulting and the server's own preparation."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    document = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
        "spec": {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }
    document["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    pruned, _ = things().prune(JOB, document)
    return things().default(JOB, pruned)

"""The custom resources that the scripts use: our CRDs, and two that have every feature of a definition."""

from worker_agent.api import crds
from worker_agent.api.document import Document


def documents() -> list[Document]:
    """To be installed on both servers before the first script."""
    return [*crds.documents(), widgets(), gadgets()]


def widgets() -> Document:
    """Namespaced, with defaults, limits, CEL rules, list types, status, scale, columns and selectable fields."""
    spec: Document = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 100, "default": 3},
            "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
            "code": {"type": "string", "pattern": "^[a-z]{2,5}$", "maxLength": 5},
            "replicas": {"type": "integer", "format": "int32", "minimum": 0},
            "ratio": {"type": "number"},
            "enabled": {"type": "boolean"},
            "nothing": {"type": "string", "nullable": True},
            "amount": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 4},
            "plain": {"type": "array", "items": {"type": "string"}},
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string"},
                        "weight": {"type": "integer", "default": 1},
                        "mode": {"type": "string"},
                    },
                },
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "atomic": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            },
            "fixed": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
            },
            "when": {"type": "string", "format": "date-time"},
            "low": {"type": "integer"},
            "high": {"type": "integer"},
        },
        "x-kubernetes-validations": [
            {
                "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
                "message": "low must not be above high",
                "fieldPath": ".low",
                "reason": "FieldValueInvalid",
            },
            {
                "rule": "!has(self.code) || self.code != 'bad'",
                "messageExpression": "'code ' + self.code + ' is reserved'",
            },
        ],
    }
    status: Document = {
        "type": "object",
        "properties": {
            "replicas": {"type": "integer", "format": "int32"},
            "selector": {"type": "string"},
            "phase": {"type": "string"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status"],
                    "properties": {
                        "type": {"type": "string"},
                        "status": {"type": "string"},
                        "reason": {"type": "string"},
                        "message": {"type": "string"},
                    },
                },
            },
        },
    }
    version: Document = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "selectableFields": [{"jsonPath": ".spec.color"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Color", "type": "string", "jsonPath": ".spec.color", "description": "What it looks like"},
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    return _definition("widgets", "Widget", "Namespaced", version, ["wd"])


def gadgets() -> Document:
    """Cluster-scoped, no status subresource, required fields, everything unknown kept in ``data``."""
    schema: Document = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "required": ["kind"],
                "properties": {"kind": {"type": "string", "minLength": 1}, "data": {"type": "object"}},
            },
            "status": {"type": "object", "properties": {"seen": {"type": "boolean"}}},
        },
    }
    version: Document = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return _definition("gadgets", "Gadget", "Cluster", version, [])


def _definition(plural: str, kind: str, scope: str, version: Document, short: list[str]) -> Document:
    names: Document = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    if short:
        names["shortNames"] = short
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "scope": scope, "names": names, "versions": [version]},
    }

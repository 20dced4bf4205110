"""Kubernetes' own types as a CustomResourceDefinition holds them: pod templates inside Workloads.

The words are left out (they would make the definition five times as large; ``kubectl explain pod.spec`` has them), and
so is whatever the common definition generator leaves out, so that our definition and Kueue's agree field by field.
"""

from collections.abc import Collection
from typing import Final

from worker_agent.api import openapi_data
from worker_agent.api.document import Document
from worker_agent.api.schema import QUANTITY_SCHEMA

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_CORE: Final = "io.k8s.api.core.v1."
_TEMPLATE_METADATA: Final = ("annotations", "finalizers", "labels", "name", "namespace")
"""What a definition keeps of embedded metadata."""
_ATOMIC: Final = frozenset(
    f"{_CORE}{name}"
    for name in (
        "ConfigMapEnvSource",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "SecretEnvSource",
        "SecretProjection",
    )
)
"""Types that contain an atomic reference inline and are atomic by it; the OpenAPI data does not say so."""
_DEFAULTS_BY_CONSTANT: Final = {f"{_CORE}AzureDiskVolumeSource": ("cachingMode", "kind")}
"""Fields whose default is stated by reference to a Go constant, which the generator does not follow."""
_KEPT: Final = (
    "type",
    "format",
    "required",
    "additionalProperties",
    "items",
    "properties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)


def of_builtin(name: str) -> Document:
    """Structure, required fields, list and map types of one OpenAPI name. Raises KeyError for an unknown one."""
    schema = openapi_data.schema(name)
    if name == _QUANTITY:
        return dict(QUANTITY_SCHEMA)
    if name == _INT_OR_STRING:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    if name == _OBJECT_META:
        kept = {field: _without(schema["properties"][field], "x-kubernetes-list-type") for field in _TEMPLATE_METADATA}
        return _structure({"type": "object", "properties": kept})
    structure = _structure(schema, without_default=_DEFAULTS_BY_CONSTANT.get(name, ()))
    return structure | ({"x-kubernetes-map-type": "atomic"} if name in _ATOMIC else {})


def _of(schema: Document) -> Document:
    referenced = openapi_data.referenced(schema)
    return of_builtin(referenced) if referenced else _structure(schema)


def _structure(schema: Document, without_default: Collection[str] = ()) -> Document:
    structure: Document = {keyword: schema[keyword] for keyword in _KEPT if keyword in schema}
    if "properties" in structure:
        undefaulted = {*(schema.get("required") or ()), *without_default}
        structure["properties"] = {
            field: _of(child) | ({} if field in undefaulted else _default(child))
            for field, child in sorted(structure["properties"].items())
        }
    for keyword in ("items", "additionalProperties"):
        if keyword in structure:
            structure[keyword] = _of(structure[keyword])
    return structure


def _default(schema: Document) -> Document:
    """The default of an optional scalar. ``{}`` and 0 only spell out what an absent field means in Go."""
    default = schema.get("default")
    says_nothing = default is None or default == {} or (default == 0 and default is not False)
    return {} if says_nothing else {"default": default}


def _without(schema: Document, keyword: str) -> Document:
    return {key: value for key, value in schema.items() if key != keyword}

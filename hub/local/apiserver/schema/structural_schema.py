"""Whether the schemas of a definition are structural: every place has a type, lists say what they hold.

Source: apiextensions-apiserver pkg/apiserver/schema/validation.go and its pkg/apis/.../validation.go.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hub.local.apiserver.schema import field_errors
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES: Final = ("atomic", "map", "set")
MAP_TYPES: Final = ("atomic", "granular")


def errors(crd: Document) -> Iterator[FieldError]:
    """Complaints about the schemas of all versions; one that all share is told at its internal place."""
    versions = crd["spec"].get("versions") or ()
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") or {} for version in versions]
    if not schemas or not all(schemas):
        return
    if all(schema == schemas[0] for schema in schemas):
        yield from _root_errors(schemas[0], "spec.validation.openAPIV3Schema")
        return
    for index, schema in enumerate(schemas):
        yield from _root_errors(schema, f"spec.versions[{index}].schema.openAPIV3Schema")


def _root_errors(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if not kind:
        yield field_errors.required(f"{path}.type", "must not be empty at the root")
    elif kind != "object":
        yield field_errors.invalid(f"{path}.type", kind, "must be object at the root")
    yield from _place_errors(schema, path, "")


def _place_errors(schema: Mapping[str, Any], path: str, holder: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    open_place = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if holder and not kind and not open_place:
        yield field_errors.required(f"{path}.type", f"must not be empty for specified {holder}")
    elif kind and kind not in TYPES:
        yield field_errors.not_supported(f"{path}.type", kind, TYPES)
    yield from _list_errors(schema, path)
    if schema.get("properties") and isinstance(schema.get("additionalProperties"), Mapping):
        words = "additionalProperties and properties are mutual exclusive"
        yield field_errors.forbidden(f"{path}.additionalProperties", words)
    for name, child in (schema.get("properties") or {}).items():
        yield from _place_errors(child, f"{path}.properties[{name}]", "object fields")
    for keyword, below in (("items", "array items"), ("additionalProperties", "object fields")):
        if isinstance(schema.get(keyword), Mapping):
            yield from _place_errors(schema[keyword], f"{path}.{keyword}", below)


def _list_errors(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if schema.get("type") == "array" and not schema.get("items"):
        yield field_errors.required(f"{path}.items", "must be specified")
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    if list_type is not None and list_type not in LIST_TYPES:
        yield field_errors.not_supported(f"{path}.x-kubernetes-list-type", list_type, LIST_TYPES)
    if list_type == "map" and not keys:
        words = "must not be empty if x-kubernetes-list-type is map"
        yield field_errors.required(f"{path}.x-kubernetes-list-map-keys", words)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in MAP_TYPES:
        yield field_errors.not_supported(f"{path}.x-kubernetes-map-type", map_type, MAP_TYPES)

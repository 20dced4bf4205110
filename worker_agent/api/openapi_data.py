"""The OpenAPI schemas and discovery entries of the real kube-apiserver, read once from the packaged data file.

Callers: the embedded API server (defaults, patches, field ownership, ``kubectl explain``) and the CRD generator, which
takes PodTemplateSpec from here. ``scripts/gen-openapi`` makes the file.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import zstandard

POD_TEMPLATE_SPEC = "io.k8s.api.core.v1.PodTemplateSpec"
REFERENCE_PREFIX = "#/components/schemas/"


class OpenApiData(msgspec.Struct, rename="camel"):
    """``schemas`` by OpenAPI name, in OpenAPI v3 form with references; treat everything as frozen.

    ``go_fields`` gives, by OpenAPI name and field, the Go type and the ``omitempty``/``omitzero`` of its tag;
    ``columns`` the printed columns by kind.
    """

    kubernetes_version: str
    source: str
    group_versions: dict[str, dict[str, list[str]]]
    discovery: list[dict[str, Any]]
    schemas: dict[str, dict[str, Any]]
    go_fields: dict[str, dict[str, str]]
    columns: dict[str, list[dict[str, Any]]]


@cache
def load() -> OpenApiData:
    """The data file, decoded: 0.1 s the first time, free afterwards."""
    packed = files("worker_agent.api").joinpath("data", "openapi.json.zst").read_bytes()
    return msgspec.json.decode(zstandard.ZstdDecompressor().decompress(packed), type=OpenApiData)


def schema(name: str) -> dict[str, Any]:
    """The schema of one OpenAPI name such as ``POD_TEMPLATE_SPEC``, references kept. Raises KeyError."""
    return load().schemas[name]


def referenced(schema: Mapping[str, Any]) -> str:
    """The OpenAPI name a property schema points at, directly or through a single ``allOf``; empty for an inline one."""
    reference = schema.get("$ref", "")
    if not reference:
        all_of = schema.get("allOf")
        reference = all_of[0].get("$ref", "") if all_of and len(all_of) == 1 else ""
    return str(reference).removeprefix(REFERENCE_PREFIX)


def expanded(name: str) -> dict[str, Any]:
    """The schema with every reference replaced by what it points at, outer keywords winning: what a CRD can hold.

    Only for schemas that do not contain themselves (PodTemplateSpec does not); raises RecursionError otherwise.
    """
    return _expand(load().schemas[name])


def _expand(schema: dict[str, Any]) -> dict[str, Any]:
    name = referenced(schema)
    outer = {key: value for key, value in schema.items() if key not in {"$ref", "allOf"} or not name}
    merged = {**expanded(name), **outer} if name else outer
    result: dict[str, Any] = {}
    for key, value in merged.items():
        if key == "properties":
            result[key] = {field: _expand(child) for field, child in value.items()}
        elif key in {"items", "additionalProperties"} and isinstance(value, dict):
            result[key] = _expand(value)
        else:
            result[key] = value
    return result

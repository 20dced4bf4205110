"""Which resources and schemas an OpenAPI document shows: of the data file, and of CRDs as clients see them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hub.local.apiserver.schema import openapi
from hub.local.apiserver.schema.openapi import Served
from worker_agent.api import openapi_data
from worker_agent.api.document import Document

OBJECT_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
PART_VERBS: Final = ("get", "patch", "update")


def builtin(group: str, version: str) -> Document | None:
    """The document of one of the real server's group versions; None when the data file has none."""
    data = openapi_data.load()
    known = data.group_versions.get(f"{group}/{version}" if group else version)
    if known is None:
        return None
    schemas = {name: data.schemas[name] for name in known["schemas"]}
    return openapi.document("Kubernetes", _builtin_resources(group, version, schemas), schemas)


def _builtin_resources(group: str, version: str, schemas: Mapping[str, Any]) -> Iterator[Served]:
    names: dict[str, str] = {}
    for name, schema in schemas.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            if kind["group"] == group and kind["version"] == version:
                names.setdefault(kind["kind"], name)
    data = openapi_data.load()
    listed = next(item for item in data.discovery if (item["group"], item["version"]) == (group, version))
    resources = listed["resources"]
    for resource in resources:
        if "/" in resource["name"] or resource["kind"] not in names:
            continue
        prefix = f"{resource['name']}/"
        parts = {r["name"].removeprefix(prefix): r["verbs"] for r in resources if r["name"].startswith(prefix)}
        yield Served(
            group=group,
            version=version,
            kind=resource["kind"],
            plural=resource["name"],
            namespaced=resource["namespaced"],
            verbs=resource["verbs"],
            schema=names[resource["kind"]],
            subresources=parts,
        )


def custom(group: str, version: str, crds: list[tuple[Document, Mapping[str, Any]]]) -> Document:
    """The document of a group version made of CRDs, given with their version entries."""
    prefix = ".".join([*reversed(group.split(".")), version])
    resources, schemas = [], {}
    for crd, entry in crds:
        names = crd["spec"]["names"]
        kind = names["kind"]
        list_kind = names.get("listKind") or f"{kind}List"
        own = (entry.get("schema") or {}).get("openAPIV3Schema") or {}
        schemas[f"{prefix}.{kind}"] = _object_schema(own, {"group": group, "version": version, "kind": kind})
        schemas[f"{prefix}.{list_kind}"] = _list_schema(
            f"{prefix}.{kind}", names["plural"], {"group": group, "version": version, "kind": list_kind}
        )
        resources.append(
            Served(
                group=group,
                version=version,
                kind=kind,
                plural=names["plural"],
                namespaced=crd["spec"]["scope"] == "Namespaced",
                verbs=OBJECT_VERBS,
                schema=f"{prefix}.{kind}",
                subresources={name: PART_VERBS for name in entry.get("subresources") or {}},
                patch_types=openapi.CUSTOM_PATCH_TYPES,
            )
        )
    return openapi.document("Kubernetes CRD Swagger", resources, schemas)


def _object_schema(own: Mapping[str, Any], kind: Document) -> Document:
    fields = _identity_fields()
    metadata = {
        "description": openapi_data.schema("io.k8s.api.core.v1.Namespace")["properties"]["metadata"]["description"],
        "allOf": [{"$ref": openapi_data.REFERENCE_PREFIX + openapi.META + "ObjectMeta"}],
    }
    published = _published(own)
    return {
        **published,
        "type": "object",
        "properties": {**fields, **published.get("properties", {}), **fields, "metadata": metadata},
        "x-kubernetes-group-version-kind": [kind],
    }


def _identity_fields() -> Document:
    declared = openapi_data.schema("io.k8s.api.core.v1.Namespace")["properties"]
    return {name: declared[name] for name in ("apiVersion", "kind")}


def _published(schema: Mapping[str, Any]) -> Document:
    """A CRD's schema as clients see it: free-form places say nothing, int-or-string has no type."""
    result: Document = {key: value for key, value in schema.items() if key != "x-kubernetes-validations"}
    if schema.get("x-kubernetes-preserve-unknown-fields") and schema.get("type") == "object":
        return {
            key: result[key] for key in ("description", "x-kubernetes-preserve-unknown-fields") if key in result
        } | {"type": "object"}
    if "properties" in schema:
        result["properties"] = {name: _published(child) for name, child in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            result[key] = _published(schema[key])
    return result


def _list_schema(item: str, plural: str, kind: Document) -> Document:
    return {
        "description": f"{kind['kind']} is a list of {item.rpartition('.')[2]}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_identity_fields(),
            "items": {
                "description": f"List of {plural}.",
                "type": "array",
                "items": {"$ref": openapi_data.REFERENCE_PREFIX + item},
            },
            "metadata": {
                "description": "Standard list metadata.",
                "allOf": [{"$ref": openapi_data.REFERENCE_PREFIX + openapi.META + "ListMeta"}],
            },
        },
        "x-kubernetes-group-version-kind": [kind],
    }

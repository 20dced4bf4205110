"""OpenAPI v3 documents, one per group version, so that ``kubectl explain`` and client-side validation work.

Schemas are those of the data file or of CRDs, word for word; paths are made from what is served: which verbs, which
kind, which parameters. Clients look for the kind of a path and for the parameter ``fieldValidation``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from worker_agent.api import openapi_data
from worker_agent.api.document import Document

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
SHARED: Final = tuple(META + name for name in ("DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status"))
CUSTOM_PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
PATCH_TYPES: Final = (*CUSTOM_PATCH_TYPES, "application/strategic-merge-patch+json")
WRITE_PARAMETERS: Final = {
    "dryRun": ("string", "All: run every check, store nothing."),
    "fieldManager": ("string", "Who makes the change; at most 128 printable characters."),
    "fieldValidation": ("string", "What happens to unknown and duplicate fields: Ignore, Warn or Strict."),
}
LIST_PARAMETERS: Final = {
    "allowWatchBookmarks": ("boolean", "Send BOOKMARK events on a watch."),
    "continue": ("string", "Where the next page of a list begins; from the page before."),
    "fieldSelector": ("string", "Only objects with these fields."),
    "labelSelector": ("string", "Only objects with these labels."),
    "limit": ("integer", "At most this many objects."),
    "resourceVersion": ("string", "How fresh the answer must be, or where a watch begins."),
    "resourceVersionMatch": ("string", "How resourceVersion is meant."),
    "sendInitialEvents": ("boolean", "Begin a watch with the objects that exist."),
    "timeoutSeconds": ("integer", "End the call after this many seconds."),
    "watch": ("boolean", "Watch for changes instead of listing."),
}
DELETE_PARAMETERS: Final = {
    "dryRun": WRITE_PARAMETERS["dryRun"],
    "gracePeriodSeconds": ("integer", "Seconds until the object goes; 0 means at once."),
    "propagationPolicy": ("string", "What happens to dependents: Orphan, Background or Foreground."),
}


@dataclass(frozen=True, slots=True)
class Served:
    """One resource of a group version, as its paths need it. ``subresources`` by name, with their verbs."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: Sequence[str]
    schema: str
    subresources: Mapping[str, Sequence[str]]
    patch_types: Sequence[str] = PATCH_TYPES
    """kubectl apply sends a strategic merge patch where this offers one."""

    @property
    def type(self) -> Document:
        return {"group": self.group, "version": self.version, "kind": self.kind}


def document(title: str, resources: Iterable[Served], schemas: Mapping[str, Any]) -> Document:
    """The document of one group version. ``schemas`` are its own; what they refer to is added from the data file."""
    paths: Document = {}
    for resource in resources:
        paths.update(_paths(resource))
    return {
        "openapi": "3.0.0",
        "info": {"title": title, "version": openapi_data.load().kubernetes_version},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(_closed(schemas).items()))},
    }


def _closed(schemas: Mapping[str, Any]) -> dict[str, Any]:
    known = openapi_data.load().schemas
    result: dict[str, Any] = dict(schemas)
    waiting = [*SHARED, *(name for schema in schemas.values() for name in _references(schema))]
    while waiting:
        name = waiting.pop()
        if name not in result and name in known:
            result[name] = known[name]
            waiting.extend(_references(known[name]))
    return result


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(openapi_data.REFERENCE_PREFIX)
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)


def _paths(resource: Served) -> Iterator[tuple[str, Document]]:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    base = f"{root}{scope}/{resource.plural}"
    verbs = set(resource.verbs)
    shared = _path_parameters(resource.namespaced)
    collection = {"list": "get", "create": "post", "deletecollection": "delete"}
    if verbs & collection.keys():
        yield base, _item(resource, "", {collection[v]: v for v in collection if v in verbs}, shared)
    if resource.namespaced and "list" in verbs:
        yield f"{root}/{resource.plural}", _item(resource, "", {"get": "list"}, [])
    single = {"get": "get", "update": "put", "patch": "patch", "delete": "delete"}
    named = [_parameter("name", "path", "string", "The name of the object."), *shared]
    yield base + "/{name}", _item(resource, "", {single[v]: v for v in single if v in verbs}, named)
    for name, offered in resource.subresources.items():
        methods = {**single, "create": "post"}
        yield f"{base}/{{name}}/{name}", _item(resource, name, {methods[v]: v for v in methods if v in offered}, named)


def _path_parameters(namespaced: bool) -> list[Document]:
    return [_parameter("namespace", "path", "string", "The namespace of the object.")] if namespaced else []


def _parameter(name: str, place: str, kind: str, description: str) -> Document:
    parameter: Document = {"name": name, "in": place, "description": description}
    if place == "path":
        parameter["required"] = True
    parameter["schema"] = {"type": kind, "uniqueItems": True}
    return parameter


def _item(resource: Served, subresource: str, methods: Mapping[str, str], parameters: list[Document]) -> Document:
    operations = {method: _operation(resource, subresource, verb) for method, verb in methods.items()}
    return {**operations, "parameters": parameters}


def _operation(resource: Served, subresource: str, verb: str) -> Document:
    listed = verb in {"list", "deletecollection"}
    answer = f"{resource.schema}List" if verb == "list" else resource.schema
    if verb in {"delete", "deletecollection"}:
        answer = f"{META}Status"
    group = "".join(part.capitalize() for part in resource.group.split(".")) or "Core"
    scope = "Namespaced" if resource.namespaced else ""
    operation: Document = {
        "tags": [f"{resource.group.replace('.', '_') or 'core'}_{resource.version}"],
        "operationId": f"{verb}{group}{resource.version.capitalize()}{scope}{resource.kind}{subresource.capitalize()}",
        "parameters": [
            _parameter(name, "query", kind, description)
            for name, (kind, description) in _query_parameters(verb, listed).items()
        ],
        "responses": {"200": {"description": "OK", "content": _content(answer, ["application/json"])}},
        "x-kubernetes-action": "post" if verb == "create" else {"update": "put"}.get(verb, verb),
        "x-kubernetes-group-version-kind": resource.type,
    }
    body = _body(resource, verb)
    if body is not None:
        operation["requestBody"] = body
    return operation


def _query_parameters(verb: str, listed: bool) -> dict[str, tuple[str, str]]:
    if verb == "get":
        return {}
    if verb == "delete":
        return DELETE_PARAMETERS
    if listed:
        return LIST_PARAMETERS if verb == "list" else {**LIST_PARAMETERS, **DELETE_PARAMETERS}
    if verb == "patch":
        return {**WRITE_PARAMETERS, "force": ("boolean", "Take fields from other managers; only for apply.")}
    return WRITE_PARAMETERS


def _body(resource: Served, verb: str) -> Document | None:
    if verb in {"create", "update"}:
        return {"content": _content(resource.schema, ["application/json", "application/yaml"]), "required": True}
    if verb == "patch":
        return {"content": _content(f"{META}Patch", resource.patch_types), "required": True}
    if verb in {"delete", "deletecollection"}:
        return {"content": _content(f"{META}DeleteOptions", ["application/json"])}
    return None


def _content(schema: str, types: Sequence[str]) -> Document:
    return {kind: {"schema": {"$ref": openapi_data.REFERENCE_PREFIX + schema}} for kind in types}

"""What is served, as clients ask for it: /api, /apis, resource lists, aggregated discovery, and OpenAPI v3's index.

Source: k8s.io/api apidiscovery/v2; the order of groups and versions is the table's.
"""

import base64
import hashlib
from collections.abc import Iterator

from hub.local.apiserver import aggregated_discovery
from hub.local.apiserver.answer import Answer, json_answer
from hub.local.apiserver.resources import Resource, ResourceTable
from hub.local.apiserver.schemas import Schemas
from hub.local.apiserver.store import State, encode
from worker_agent.api.document import Document

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_SUBRESOURCE_VERBS = {
    "status": ("get", "patch", "update"),
    "scale": ("get", "patch", "update"),
    "binding": ("create",),
    "eviction": ("create",),
    "finalize": ("update",),
    "ephemeralcontainers": ("get", "patch", "update"),
    "resize": ("get", "patch", "update"),
}
_SUBRESOURCE_KINDS = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
}


_ORDER = (
    "", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "batch",
    "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io",
    "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
)  # fmt: skip
"""The priority of the real server's groups: kubectl follows it where one name is in several, and in ``get all``."""


def _groups(table: ResourceTable) -> dict[str, dict[str, list[Resource]]]:
    """group -> version -> resources: the built-in groups by priority, then those of CRDs by name."""
    groups: dict[str, dict[str, list[Resource]]] = {}
    for resource in table:
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return dict(sorted(groups.items(), key=lambda item: (_place(item[0]), item[0])))


def _place(group: str) -> int:
    return _ORDER.index(group) if group in _ORDER else len(_ORDER)


def answer(state: State, schemas: Schemas, parts: list[str], accept: str) -> Answer | None:
    """The discovery document of a path; None when the path is none of discovery's."""
    table = state.resources
    groups = _groups(table)
    others = aggregated_discovery.groups(state)
    match parts:
        case []:
            return json_answer({"paths": _paths({name: list(found) for name, found in groups.items()} | others)})
        case ["api"]:
            return _core_versions(accept, groups[""])
        case ["apis"]:
            named = {name: versions for name, versions in groups.items() if name}
            return _group_list(state, accept, named, others)
        case ["api", version]:
            return _resources("", version, groups[""].get(version))
        case ["apis", group] if group in groups or group in others:
            found = _group(group, list(groups[group]) if group in groups else others[group])
            return json_answer({"kind": "APIGroup", "apiVersion": "v1", **found})
        case ["apis", group, version] if group in groups:
            return _resources(group, version, groups[group].get(version))
        case ["openapi", "v3"]:
            paths = {name: list(found) for name, found in groups.items()} | others
            return json_answer({"paths": dict(_openapi_paths(paths, table.generation))})
        case ["openapi", "v3", "api", version]:
            return _openapi(schemas, "", version)
        case ["openapi", "v3", "apis", group, version]:
            return _openapi(schemas, group, version)
    return None


def _paths(groups: dict[str, list[str]]) -> list[str]:
    """Where a client may look further."""
    found = ["/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"]
    for group, versions in groups.items():
        found += [f"/apis/{group}"] if group else []
        found += [f"/apis/{group}/{version}" if group else f"/api/{version}" for version in versions]
    return sorted(found)


def _core_versions(accept: str, versions: dict[str, list[Resource]]) -> Answer:
    if _wants_aggregated(accept):
        return _aggregated_list([_aggregated_group("", versions)])
    return json_answer({"kind": "APIVersions", "versions": ["v1"]})


def _group_list(
    state: State, accept: str, groups: dict[str, dict[str, list[Resource]]], others: dict[str, list[str]]
) -> Answer:
    if _wants_aggregated(accept):
        items = [_aggregated_group(*item) for item in groups.items()]
        return _aggregated_list([*items, *aggregated_discovery.items(state)])
    listed = [_group(name, list(found)) for name, found in groups.items()]
    listed += [_group(*item) for item in others.items()]
    return json_answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})


def _wants_aggregated(accept: str) -> bool:
    return "g=apidiscovery.k8s.io" in accept and "v=v2" in accept.replace("v=v2beta1", "")


def _aggregated_list(items: list[Document]) -> Answer:
    document = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    return Answer(200, encode(document), content_type=AGGREGATED, headers=[("vary", "Accept")])


def _aggregated_group(name: str, versions: dict[str, list[Resource]]) -> Document:
    return {"metadata": {"name": name} if name else {}, "versions": [_version(*item) for item in versions.items()]}


def _group(name: str, versions: list[str]) -> Document:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _version(version: str, resources: list[Resource]) -> Document:
    return {
        "version": version,
        "resources": [_aggregated(resource) for resource in sorted(resources, key=_plural)],
        "freshness": "Current",
    }


def _aggregated(resource: Resource) -> Document:
    found: Document = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [_aggregated_sub(resource, name) for name in sorted(resource.subresources)]
    return found


def _response_kind(resource: Resource) -> Document:
    """Built-in kinds leave out the group version they stand under."""
    group, version = (resource.group, resource.version) if resource.custom else ("", "")
    return {"group": group, "version": version, "kind": resource.kind}


def _aggregated_sub(resource: Resource, name: str) -> Document:
    found = _SUBRESOURCE_KINDS.get(name)
    return {
        "subresource": name,
        "responseKind": dict(zip(("group", "version", "kind"), found, strict=True))
        if found
        else _response_kind(resource),
        "verbs": list(_SUBRESOURCE_VERBS.get(name, ("get",))),
    }


def _resources(group: str, version: str, resources: list[Resource] | None) -> Answer | None:
    if resources is None:
        return None
    listed = [entry for resource in sorted(resources, key=_plural) for entry in _entries(resource)]
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
    if not group:
        head = {"kind": "APIResourceList", "groupVersion": version}
    return json_answer({**head, "resources": listed})


def _plural(resource: Resource) -> str:
    return resource.plural


def _entries(resource: Resource) -> Iterator[Document]:
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "list" in resource.verbs:
        entry["storageVersionHash"] = _hash(resource)
    yield entry
    for name in sorted(resource.subresources):
        kind = _SUBRESOURCE_KINDS.get(name)
        sub: Document = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind[2] if kind else resource.kind,
            "verbs": list(_SUBRESOURCE_VERBS.get(name, ("get",))),
        }
        if kind:
            sub["group"], sub["version"] = kind[0], kind[1]
        yield sub


def _hash(resource: Resource) -> str:

    digest = hashlib.sha256(f"{resource.group}/{resource.version}/{resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _openapi_paths(groups: dict[str, list[str]], generation: int) -> Iterator[tuple[str, Document]]:
    for group, versions in groups.items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            token = hashlib.sha256(f"{path} {generation}".encode()).hexdigest().upper()
            yield path, {"serverRelativeURL": f"/openapi/v3/{path}?hash={token}"}


def _openapi(schemas: Schemas, group: str, version: str) -> Answer | None:
    document = schemas.openapi_v3(group, version)
    return None if document is None else json_answer(document)

"""The end of a namespace: its content is deleted, its conditions say what is left, and with the last object it goes.

Source: kubernetes pkg/controller/namespace/deletion/namespaced_resources_deleter.go and status_condition_utils.go.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from hub.local.apiserver.call import document_of
from hub.local.apiserver.metadata import timestamp
from hub.local.apiserver.resources import NAMESPACES, Resource
from hub.local.apiserver.store import State, Stored, encode
from worker_agent.api.document import Document
from worker_agent.kube.transport import Request

_HEADERS = {"content-type": "application/json", "user-agent": "kube-controller-manager"}
_GOOD = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


def requests(state: State, name: str, now: datetime) -> Iterator[Request]:
    """What to do next about a terminating namespace; carry each out before taking the next."""
    namespace = state.get(NAMESPACES, "", name)
    if namespace is None or not namespace.deleting:
        return
    kinds = [state.resources.of_store(store)[0] for store in state.resources.stores()]
    kinds = [resource for resource in kinds if resource.namespaced]
    for resource in kinds:
        for stored in list(state.collection(resource.store).in_namespace(name)):
            if not stored.deleting:
                yield _delete(resource, stored)
    left = {resource: list(state.collection(resource.store).in_namespace(name)) for resource in kinds}
    left = {resource: objects for resource, objects in left.items() if objects}
    current = state.get(NAMESPACES, "", name)
    if current is None:
        return
    (resource,) = state.resources.of_store(NAMESPACES)
    document = document_of(resource, current)
    if left:
        yield from _told(document, left, now)
        return
    finalizers = [item for item in document["spec"].get("finalizers") or () if item != "kubernetes"]
    document["spec"] = {**document["spec"], "finalizers": finalizers}
    yield Request("PUT", f"/api/v1/namespaces/{name}/finalize", (), _HEADERS, encode(document))


def _delete(resource: Resource, stored: Stored) -> Request:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    path = f"{root}/{resource.version}/namespaces/{stored.namespace}/{resource.plural}/{stored.name}"
    options = {"preconditions": {"uid": stored.uid}, "propagationPolicy": "Background"}
    return Request("DELETE", path, (), _HEADERS, encode({"kind": "DeleteOptions", "apiVersion": "v1", **options}))


def _told(namespace: Document, left: dict[Resource, list[Stored]], now: datetime) -> Iterator[Request]:
    """The write of the conditions, where they do not say it already."""
    status = namespace.get("status") or {}
    before = {condition["type"]: condition for condition in status.get("conditions") or ()}
    conditions = [_condition(kind, left, before.get(kind), now) for kind in _GOOD]
    others = [condition for kind, condition in before.items() if kind not in _GOOD]
    if conditions + others == list(before.values()):
        return
    name = namespace["metadata"]["name"]
    document = {**namespace, "status": {**status, "conditions": [*conditions, *others]}}
    yield Request("PUT", f"/api/v1/namespaces/{name}/status", (), _HEADERS, encode(document))


def _condition(kind: str, left: dict[Resource, list[Stored]], old: Document | None, now: datetime) -> Document:
    reason, message = _GOOD[kind]
    status = "False"
    if kind == "NamespaceContentRemaining":
        status, reason, message = "True", "SomeResourcesRemain", f"Some resources are remaining: {_counted(left)}"
    elif kind == "NamespaceFinalizersRemaining":
        names = Counter(name for objects in left.values() for stored in objects for name in stored.finalizers)
        if names:
            told = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(names.items()))
            status, reason = "True", "SomeFinalizersRemain"
            message = f"Some content in the namespace has finalizers remaining: {told}"
    since = old["lastTransitionTime"] if old and old["status"] == status else timestamp(now)
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}


def _counted(left: dict[Resource, list[Stored]]) -> str:
    texts = [
        f"{resource.plural}.{resource.group} has {len(objects)} resource instances"
        for resource, objects in left.items()
    ]
    return ", ".join(sorted(texts))

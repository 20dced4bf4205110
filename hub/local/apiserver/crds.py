"""CustomResourceDefinitions at work: serve what they define, say so in their conditions, clean up when they go.

The real server does this in controllers moments later; here it happens within the write, so a kind is served at once.
"""

from collections.abc import Iterator
from datetime import datetime

from hub.local.apiserver import conversion
from hub.local.apiserver.metadata import timestamp
from hub.local.apiserver.resources import CRDS, Resource
from hub.local.apiserver.schemas import GVK, Schemas
from hub.local.apiserver.store import State, Stored
from worker_agent.api.document import Document

_GVK = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_HEAD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": _GVK.kind}
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order the real server lists them for custom kinds."""


def resources_of(crd: Document, translated: bool = False) -> Iterator[Resource]:
    """The served versions, the storage version first so that its shape decides."""
    spec = crd["spec"]
    names = spec["names"]
    versions = sorted(spec["versions"], key=lambda version: not version.get("storage"))
    for version in versions:
        if not version.get("served"):
            continue
        subresources = version.get("subresources") or {}
        fields = tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ())
        yield Resource(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec.get("scope") == "Namespaced",
            singular=names.get("singular") or names["kind"].lower(),
            list_kind=names.get("listKind") or names["kind"] + "List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=frozenset(subresources),
            custom=True,
            verbs=_VERBS,
            unconditional_update=False,
            selectable=fields,
            returns_deleted=False,
            deprecation=_deprecation(spec, version),
            scale_paths=_scale_paths(subresources.get("scale") or {}),
            translated=translated,
        )


def _scale_paths(scale: Document) -> tuple[str, str, str]:
    paths = (scale.get(f"{name}Path") or "" for name in ("specReplicas", "statusReplicas", "labelSelector"))
    wished, present, selector = (path.lstrip(".") for path in paths)
    return (wished, present, selector)


def _deprecation(spec: Document, version: Document) -> str:
    if not version.get("deprecated"):
        return ""
    default = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    return version.get("deprecationWarning") or default


def serve(state: State, schemas: Schemas, crd: Document) -> None:
    """Bring the table of resources in line with a CRD."""
    unserve_store(state, crd)
    schemas.add_crd(crd)
    store = store_of(crd)
    how = conversion.renew(state, store, conversion.Conversion.of_crd(crd))
    for resource in resources_of(crd, how.translates):
        state.resources.add(resource)


def store_of(crd: Document) -> str:
    """The collection of a definition's objects."""
    return f"{crd['spec']['group']}/{crd['spec']['names']['plural']}"


def unserve_store(state: State, crd: Document) -> None:
    state.resources.remove_store(store_of(crd))


def unserve(state: State, schemas: Schemas, stored: Stored) -> None:
    crd = stored.document()
    unserve_store(state, crd)
    schemas.remove_crd(crd)
    state.conversions.pop(store_of(crd), None)


def follow(state: State, schemas: Schemas, stored: Stored, now: datetime) -> None:
    """After a CRD was written: serve it and write its status when that changes."""
    crd = stored.document()
    serve(state, schemas, crd)
    status = dict(crd.get("status") or {})
    names = {name: value for name, value in crd["spec"]["names"].items() if name != "categories" or value}
    conditions = list(status.get("conditions") or ())
    accepted = _condition("NamesAccepted", "NoConflicts", "no conflicts found", now)
    established = _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now)
    present = {condition["type"] for condition in conditions}
    conditions += [condition for condition in (accepted, established) if condition["type"] not in present]
    wished = {**status, "acceptedNames": names, "conditions": conditions}
    if wished != status:
        changed = {**_HEAD, **crd, "metadata": dict(crd["metadata"]), "status": wished}
        fields = schemas.managed_fields_after_update(_GVK, changed, {**_HEAD, **crd}, "kube-apiserver", "status", now)
        if fields:
            changed["metadata"]["managedFields"] = fields
        state.put(CRDS, changed, None)


def _condition(kind: str, reason: str, message: str, now: datetime, status: str = "True") -> Document:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": timestamp(now),
        "reason": reason,
        "message": message,
    }


def terminate(crd: Document, now: datetime) -> None:
    """What a deletion does first, in place: hold the CRD until its objects are gone."""
    metadata = crd["metadata"]
    if CLEANUP not in (metadata.get("finalizers") or ()) and not metadata.get("deletionTimestamp"):
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP]
        metadata["deletionTimestamp"] = timestamp(now)
        status = dict(crd.get("status") or {})
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        condition = _condition("Terminating", "InstanceDeletionPending", message, now)
        others = [found for found in status.get("conditions") or () if found["type"] != "Terminating"]
        crd["status"] = {**status, "conditions": [*others, condition]}

"""The scale subresource of workloads: an autoscaling/v1 Scale made of the object, and spec.replicas set from one.

Source: kubernetes pkg/registry/apps/deployment/storage.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hub.local.apiserver import body, conversion, failure, updates, write_options
from hub.local.apiserver.answer import json_answer
from hub.local.apiserver.call import Call, Steps, document_of
from hub.local.apiserver.reading import find
from hub.local.apiserver.resources import Resource
from hub.local.apiserver.schema import json_merge, json_patch
from hub.local.apiserver.schema.field_errors import invalid
from hub.local.apiserver.schema.patch_error import PatchError
from hub.local.apiserver.store import decode
from worker_agent.api import document as documents
from worker_agent.api.document import Document


def get_scale(call: Call) -> Steps:
    """GET of a scale."""
    stored = find(call)
    yield from conversion.ready(call, [stored])
    return json_answer(_readable_scale(call.resource, document_of(call.resource, stored)))


def _readable_scale(resource: Resource, document: Document) -> Document:
    """The scale of a workload. Raises for a custom resource whose replicas are not set."""
    wished = resource.scale_paths[0]
    if resource.custom and documents.get(document, wished) is None:
        raise failure.internal(f'the spec replicas field ".{wished}" does not exist')
    return _scale_of(resource, document)


def _scale_of(resource: Resource, document: Document) -> Document:
    """autoscaling/v1 Scale of a workload."""
    wished, present, selector = resource.scale_paths
    metadata = document["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Document = {"replicas": documents.get(document, present, 0)}
    if selector is None:
        text = _selector_text(documents.get(document, "spec.selector", {}))
    else:
        text = documents.get(document, selector, "") if selector else ""
    if text:
        status["selector"] = text
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": documents.get(document, wished, 0)},
        "status": status,
    }


def _selector_text(selector: Document) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items()))


def _with(document: Document, path: list[str], value: int) -> Document:
    """A copy with one field set."""
    name, *rest = path
    return {**document, name: _with(document.get(name) or {}, rest, value) if rest else value}


def write_scale(call: Call) -> Steps:
    """PUT or PATCH of a scale: sets spec.replicas."""
    wish = _wish(call)
    manager = write_options.manager(call)

    def change(old: Document) -> Document:
        scale = wish(_scale_of(call.resource, old))
        given = documents.get(scale, "metadata.resourceVersion", "")
        replicas = documents.get(scale, "spec.replicas", 0)
        if replicas < 0 and not call.resource.custom:  # a custom resource's own schema says the rest
            fault = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise failure.invalid("autoscaling", "Scale", call.target.name, [fault])
        wished = _with(old, call.resource.scale_paths[0].split("."), replicas)
        wished["metadata"] = dict(old["metadata"])
        if given:
            wished["metadata"]["resourceVersion"] = given
        owned = updates.owned(call, wished, old, manager)
        if entries := owned["metadata"].get("managedFields"):
            owned["metadata"]["managedFields"] = [_timeless(entry) for entry in entries]
        return owned

    yield from updates.apply_change(call, change)
    return (yield from get_scale(call))


def _timeless(entry: Document) -> Document:
    """The real server notes no time for a scale."""
    if entry.get("subresource") != "scale":
        return entry
    return {name: value for name, value in entry.items() if name != "time"}


def _wish(call: Call) -> Callable[[Document], Document]:
    kind = body.media_type(call)
    given: Any = _patch(call) if call.target.verb == "patch" else body.read_plain(call, "Scale")

    def wish(scale: Document) -> Document:
        if call.target.verb == "update":
            return dict(given)
        try:
            if kind == "application/json-patch+json":
                return json_patch.apply(scale, given)
        except PatchError as error:
            raise failure.Failure(error.status, error.reason, error.message, {}) from None
        merged: Document = json_merge.merge(scale, given)
        return merged

    return wish


def _patch(call: Call) -> Any:
    try:
        return decode(call.request.body)
    except msgspec.DecodeError as error:
        raise failure.bad_request(f"error decoding patch: {error}") from None

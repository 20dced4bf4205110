"""The scale subresource of workloads: an autoscaling/v1 Scale made of the object, and spec.replicas set from one.

Source: kubernetes pkg/registry/apps/deployment/storage.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hub.local.apiserver import body, failure, updates, write_options
from hub.local.apiserver.answer import Answer, json_answer
from hub.local.apiserver.call import Call, Steps, document_of
from hub.local.apiserver.reading import find
from hub.local.apiserver.schema import json_merge, json_patch
from hub.local.apiserver.schema.patch_error import PatchError
from hub.local.apiserver.store import decode
from worker_agent.api import document as documents
from worker_agent.api.document import Document


def get_scale(call: Call) -> Answer:
    return json_answer(_scale_of(document_of(call.resource, find(call))))


def _scale_of(document: Document) -> Document:
    """autoscaling/v1 Scale of a workload."""
    metadata = document["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = documents.get(document, "spec.selector", {})
    status: Document = {"replicas": documents.get(document, "status.replicas", 0)}
    text = _selector_text(selector)
    if text:
        status["selector"] = text
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": documents.get(document, "spec.replicas", 0)},
        "status": status,
    }


def _selector_text(selector: Document) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items()))


def write_scale(call: Call) -> Steps:
    """PUT or PATCH of a scale: sets spec.replicas."""
    wish = _wish(call)
    manager = write_options.manager(call)

    def change(old: Document) -> Document:
        scale = wish(_scale_of(old))
        given = documents.get(scale, "metadata.resourceVersion", "")
        replicas = documents.get(scale, "spec.replicas", 0)
        wished = {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], "replicas": replicas}}
        if given:
            wished["metadata"]["resourceVersion"] = given
        return updates.owned(call, wished, old, manager)

    yield from updates.apply_change(call, change)
    return get_scale(call)


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

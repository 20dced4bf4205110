"""The scale subresource of workloads and of custom resources that declare it, and the binding of pods to nodes.

Source: kubernetes pkg/registry/apps/*/storage and pkg/registry/core/pod/storage (assignPod, setPodHostAndAnnotations).
"""

from collections.abc import Callable

import msgspec

from hub.local.apiserver import body, failure, updates, write_options
from hub.local.apiserver.answer import Answer, json_answer
from hub.local.apiserver.call import Call, Steps, document_of
from hub.local.apiserver.reading import find
from hub.local.apiserver.schema import json_merge, json_patch
from hub.local.apiserver.schema.field_errors import required
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
    try:
        given = decode(call.request.body)
    except msgspec.DecodeError as error:
        raise failure.bad_request(f"json parse error: {error}") from None
    kind = body.media_type(call)

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


def bind(call: Call) -> Steps:
    """POST of a Binding: sets spec.nodeName once and the condition PodScheduled."""
    try:
        binding = decode(call.request.body)
    except msgspec.DecodeError as error:
        raise failure.bad_request(f"json parse error: {error}") from None
    node = documents.get(binding, "target.name", "")
    if not node:
        fault = required("target.name")
        raise failure.invalid("", "Binding", call.target.name, [fault])

    def change(old: Document) -> Document:
        name = call.target.name
        if old["metadata"].get("deletionTimestamp"):
            why = f"pod {name} is being deleted, cannot be assigned to a host"
            raise failure.conflict("", "pods/binding", name, why)
        if documents.get(old, "spec.nodeName", ""):
            why = f'pod {name} is already assigned to node "{old["spec"]["nodeName"]}"'
            raise failure.conflict("", "pods/binding", name, why)
        status = dict(old.get("status") or {})
        condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": _now(call)}
        others = [found for found in status.get("conditions") or () if found["type"] != "PodScheduled"]
        status["conditions"] = [*others, condition]
        return {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], "nodeName": node}, "status": status}

    yield from updates.apply_change(call, change)
    return json_answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201)


def _now(call: Call) -> str:
    return call.now.strftime("%Y-%m-%dT%H:%M:%SZ")

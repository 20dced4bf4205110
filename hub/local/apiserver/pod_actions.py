"""What is posted to a pod: its binding to a node, and its eviction.

Source: kubernetes pkg/registry/core/pod/storage (assignPod, setPodNodeAndMetadata, eviction).
"""

from dataclasses import replace

from hub.local.apiserver import body, deletion, failure, updates
from hub.local.apiserver.answer import json_answer
from hub.local.apiserver.call import Call, Steps
from hub.local.apiserver.metadata import timestamp
from hub.local.apiserver.schema.field_errors import required
from hub.local.apiserver.store import encode
from worker_agent.api import document as documents
from worker_agent.api.document import Document

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def bind(call: Call) -> Steps:
    """POST of a Binding: sets spec.nodeName once and the condition PodScheduled.

    A uid and a resourceVersion in its metadata are preconditions: a pod of the same name made since is another one.
    """
    binding = body.read_plain(call, "Binding")
    node = documents.get(binding, "target.name", "")
    if not node:
        fault = required("target.name")
        raise failure.invalid("", "Binding", call.target.name, [fault])

    def change(old: Document) -> Document:
        _check_bindable(call, binding, old)
        status = dict(old.get("status") or {})
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp(call.now),
        }
        others = [found for found in status.get("conditions") or () if found["type"] != "PodScheduled"]
        status["conditions"] = [*others, condition]
        return {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], "nodeName": node}, "status": status}

    yield from updates.apply_change(call, change)
    return json_answer(_SUCCESS, 201)


def _check_bindable(call: Call, binding: Document, pod: Document) -> None:
    name = call.target.name
    wanted = binding.get("metadata") or {}
    for field, what in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        given, found = wanted.get(field) or "", pod["metadata"][field]
        if given and given != found:
            raise updates.precondition_failed(call, what, given, found)
    why = ""
    if pod["metadata"].get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node := documents.get(pod, "spec.nodeName", ""):
        why = f'pod {name} is already assigned to node "{node}"'
    elif documents.get(pod, "spec.schedulingGates", []):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise failure.conflict("", "pods/binding", name, why)


def evict(call: Call) -> Steps:
    """POST of an Eviction: a deletion with its options. Disruption budgets are stored, not consulted."""
    eviction = body.read_plain(call, "Eviction")
    options = encode(eviction.get("deleteOptions") or {})
    call.request = replace(call.request, body=options)
    yield from deletion.delete(call)
    return json_answer(_SUCCESS, 201)

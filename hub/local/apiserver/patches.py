"""PATCH in its four kinds. Source: k8s.io/apiserver pkg/endpoints/handlers/patch.go."""

from typing import Any

import msgspec
import yaml

from hub.local.apiserver import body, creation, failure, request_path, updates, write_options
from hub.local.apiserver.call import Call, Steps
from hub.local.apiserver.metadata import check_place, place
from hub.local.apiserver.schema import json_merge, json_patch
from hub.local.apiserver.schema.field_errors import FieldError, forbidden, go_json, invalid
from hub.local.apiserver.schema.go_decoding import DecodeError
from hub.local.apiserver.schema.patch_error import PatchError
from hub.local.apiserver.schema.server_side_apply import ApplyConflict, ApplyError
from hub.local.apiserver.schemas import Apply
from hub.local.apiserver.store import decode, encode
from worker_agent.api.document import Document

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def patch(call: Call) -> Steps:
    """PATCH by its content type."""
    kind = body.media_type(call)
    accepted = (JSON_PATCH, MERGE_PATCH, APPLY) if call.resource.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
    if kind not in accepted:
        raise failure.unsupported_media_type(accepted) if call.resource.custom else failure.no_such_media_type()
    _check_options(call, kind)
    if kind == APPLY:
        return apply(call)
    return updates.apply_change(call, _change(call, kind, _parsed(call, kind)))


def _check_options(call: Call, kind: str) -> None:
    faults: list[FieldError] = []
    force = request_path.flag(call.query, "force")
    if kind == APPLY:
        if not call.query.get("fieldManager"):
            faults.append(FieldError("FieldValueRequired", "fieldManager", "is required for apply patch"))
    elif force is not None:
        faults.append(forbidden("force", "may not be specified for non-apply patch"))
    if faults:
        raise failure.invalid("meta.k8s.io", "PatchOptions", "", faults)


_WANTED = {JSON_PATCH: (list, "[]handlers.jsonPatchOp"), MERGE_PATCH: (dict, "map[string]interface {}")}


def _parsed(call: Call, kind: str) -> Any:
    where = "" if kind == STRATEGIC else "error decoding patch: "
    try:
        wish = decode(call.request.body)
    except msgspec.DecodeError as error:
        raise failure.bad_request(where + body.json_complaint(call.request.body, error)) from None
    wanted, go_type = _WANTED.get(kind, (dict, "map[string]interface {}"))
    if not isinstance(wish, wanted):
        why = f"json: cannot unmarshal {body.json_kind(wish)} into Go value of type {go_type}"
        raise failure.bad_request(where + why)
    return wish


def _change(call: Call, kind: str, wish: Any) -> updates.Change:
    manager = write_options.manager(call)

    def change(old: Document) -> Document:
        try:
            patched = _patched(call, kind, old, wish)
        except PatchError as error:
            details: Document | None = None if error.status == 400 else {}
            raise failure.Failure(error.status, error.reason, error.message, details) from None
        return updates.owned(call, _conformed(call, patched, old), old, manager)

    return change


def _patched(call: Call, kind: str, old: Document, wish: Any) -> Document:
    if kind == JSON_PATCH:
        return json_patch.apply(old, wish)
    if kind == MERGE_PATCH:
        merged: Document = json_merge.merge(old, wish)
        return merged
    return call.schemas.strategic_merge(call.gvk, old, wish)


def _conformed(call: Call, patched: Document, old: Document) -> Document:
    """The patched document pruned and defaulted; its identity must still be that of the URL."""
    resource = call.resource
    for name in ("apiVersion", "kind"):
        patched.setdefault(name, old[name])
    if patched["kind"] != old["kind"] or patched["apiVersion"] != old["apiVersion"]:
        why = f"{patched['apiVersion']}, Kind={patched['kind']} is not {resource.api_version}, Kind={resource.kind}"
        raise failure.invalid("", "", "", [invalid("patch", _shown(call, patched), why)])
    try:
        pruned, complaints = body.strict_complaints(call, patched)
    except DecodeError as problem:
        raise failure.invalid("", "", "", [invalid("patch", _shown(call, patched), str(problem))]) from None
    if complaints:
        chosen = body.directive(call)
        if chosen == "Strict":
            text = f"strict decoding error: {', '.join(complaints)}"
            raise failure.invalid("", "", "", [invalid("patch", _shown(call, patched), text)])
        if chosen == "Warn":
            for complaint in complaints:
                call.warn(complaint)
    document = body.defaulted(call, pruned)
    document = {**document, "metadata": dict(document["metadata"])}
    _check_name(call, document)
    place(call, document)
    return document


def _shown(call: Call, patched: Document) -> str:
    """Custom resources are maps to the real server, whose fields it sorts."""
    return go_json(patched) if call.resource.custom else encode(patched).decode()


def _check_name(call: Call, document: Document) -> None:
    name, target = document["metadata"].get("name") or "", call.target
    if not name:
        why = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        raise failure.bad_request(why)
    if name != target.name:
        raise failure.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")


def apply(call: Call) -> Steps:
    """Server-side apply: create the object or change what this manager owns of it."""
    applied = _applied(call)
    target, resource = call.target, call.resource
    how = Apply(
        call.query["fieldManager"], request_path.flag(call.query, "force") or False, target.subresource, call.now
    )

    def change(old: Document | None) -> Document:
        try:
            merged = call.schemas.apply(call.gvk, old, applied, how)
        except ApplyConflict as conflict:
            raise failure.Failure(409, "Conflict", str(conflict), {"causes": conflict.causes}) from None
        except ApplyError as problem:
            reason = "BadRequest" if problem.status == 400 else ""
            raise failure.Failure(problem.status, reason, problem.message) from None
        document = body.completed(call, merged)
        return {**document, "metadata": dict(document["metadata"])}

    if call.state.get(resource.store, target.namespace, target.name) is not None:
        return updates.apply_change(call, change)
    if target.subresource:
        raise failure.not_found(resource.group, resource.plural, target.name)
    if applied["metadata"].get("uid"):
        uid = applied["metadata"]["uid"]
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise failure.conflict(resource.group, resource.plural, target.name, why)
    made = change(None)
    place(call, made)
    return creation.create_document(call, made)


def _applied(call: Call) -> Document:
    try:
        applied = _yaml(call.request.body)
    except yaml.YAMLError as error:
        raise failure.bad_request(f"error decoding YAML: error converting YAML to JSON: yaml: {error}") from None
    if not isinstance(applied, dict):
        raise failure.bad_request("error decoding YAML: the applied configuration must be an object")
    resource, target = call.resource, call.target
    if applied.get("kind") != resource.kind or applied.get("apiVersion") != resource.api_version:
        group, _, version = (applied.get("apiVersion") or "").rpartition("/")
        raise failure.bad_request(f"invalid object type: {group}/{version}, Kind={applied.get('kind') or ''}")
    metadata = dict(applied.get("metadata") or {})
    if metadata.get("managedFields"):
        raise failure.bad_request("metadata.managedFields must be nil")
    metadata.setdefault("name", target.name)
    applied = {**applied, "metadata": metadata}
    _check_name(call, applied)
    check_place(call, applied)
    return applied


def _yaml(text: bytes) -> Any:
    """JSON, which is what programs send, is read as such: YAML takes a hundred times longer."""
    if text.lstrip()[:1] == b"{":
        try:
            return decode(text)
        except msgspec.DecodeError:
            pass
    return body.json_values(yaml.safe_load(text))

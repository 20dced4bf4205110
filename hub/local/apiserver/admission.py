"""Admission: what may change or refuse a write before it is stored: the server's own rules, then the webhooks.

Order, wording and reinvocation as in k8s.io/apiserver pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go.
"""

import base64
import binascii
from collections.abc import Generator
from dataclasses import dataclass, replace

import msgspec

from hub.local.apiserver import failure, pod_strategy, webhook_rules
from hub.local.apiserver.call import Call
from hub.local.apiserver.identity import user_info
from hub.local.apiserver.metadata import new_uid
from hub.local.apiserver.resources import MUTATING, NAMESPACES, PODS, VALIDATING, Resource
from hub.local.apiserver.schema import json_patch
from hub.local.apiserver.schema.patch_error import PatchError
from hub.local.apiserver.store import decode
from hub.local.apiserver.webhook_rules import Hook
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from worker_agent.api.document import Document

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_EXEMPT = frozenset({MUTATING, VALIDATING})
_SAFE = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class Admission:
    """One write as admission sees it; ``document`` is None for a deletion, ``old`` for a creation."""

    operation: str
    name: str
    document: Document | None
    old: Document | None
    dry_run: bool


class _CallFailed(Exception):
    """The webhook could not be asked; failurePolicy decides."""


Asking = Generator[WebhookCall, WebhookAnswer, Document]


def check_namespace(call: Call, name: str) -> None:
    """New objects need a namespace that is there and stays."""
    namespace = call.target.namespace
    if not namespace:
        return
    stored = call.state.get(NAMESPACES, "", namespace)
    if stored is None:
        raise failure.not_found("", "namespaces", namespace)
    if (stored.fields or {}).get("status.phase") == "Terminating":
        resource = call.resource
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        refusal = failure.forbidden(resource.group, resource.plural, name, why)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        refusal.details = {**(refusal.details or {}), "causes": [cause]}
        raise refusal


def mutate(call: Call, change: Admission) -> Asking:
    """The document as the server's own rules and the mutating webhooks leave it."""
    document = change.document
    if call.resource.store == PODS and change.operation == "CREATE" and document is not None:
        document = dict(document)
        pod_strategy.admit_new(call, document)
        change = replace(change, document=document)
    hooks = webhook_rules.hooks(call.state, MUTATING) if call.resource.store not in _EXEMPT else ()
    if hooks:
        document = yield from _mutate_rounds(call, change, hooks)
    return document if document is not None else {}


def _mutate_rounds(call: Call, change: Admission, hooks: tuple[Hook, ...]) -> Asking:
    """All hooks once; those that asked for it again when a later one changed what they saw."""
    again: set[int] = set()
    invoked: set[int] = set()
    for index, hook in enumerate(hooks):
        asked, changed = yield from _ask_mutating(call, change, hook)
        if asked is None:
            continue
        change = asked
        if changed:
            again |= invoked
            invoked = set()
        if hook.settings.get("reinvocationPolicy") == "IfNeeded":
            invoked.add(index)
    for index in sorted(again):
        asked, _ = yield from _ask_mutating(call, change, hooks[index])
        change = asked or change
    return change.document or {}


def _ask_mutating(
    call: Call, change: Admission, hook: Hook
) -> Generator[WebhookCall, WebhookAnswer, tuple[Admission | None, bool]]:
    """The change as one hook leaves it (None when it is not concerned), and whether it differs."""
    seen = webhook_rules.concerned(call, change, hook)
    if seen is None:
        return None, False
    try:
        response = yield from _ask(call, change, hook, seen)
        document = _patched(change, hook, response)
    except _CallFailed as error:
        if hook.ignores_failures:
            return change, False
        raise failure.internal(f'failed calling webhook "{hook.name}": {error}') from None
    if document is change.document or document == change.document or document is None:
        return change, False
    pruned, _ = call.schemas.prune(call.gvk, document)
    return replace(change, document=call.schemas.default(call.gvk, pruned)), True


def validate(call: Call, change: Admission) -> Generator[WebhookCall, WebhookAnswer, None]:
    """Ask the validating webhooks; the first refusal wins."""
    hooks = webhook_rules.hooks(call.state, VALIDATING) if call.resource.store not in _EXEMPT else ()
    for hook in hooks:
        seen = webhook_rules.concerned(call, change, hook)
        if seen is None:
            continue
        try:
            yield from _ask(call, change, hook, seen)
        except _CallFailed as error:
            if not hook.ignores_failures:
                raise failure.internal(f'failed calling webhook "{hook.name}": {error}') from None


def _ask(call: Call, change: Admission, hook: Hook, seen: Resource) -> Asking:
    """The webhook's response where it allows the write; its refusal raised otherwise."""
    if change.dry_run and hook.settings.get("sideEffects") not in _SAFE:
        raise failure.bad_request(f'admission webhook "{hook.name}" does not support dry run')
    uid = new_uid(call.state.entropy)
    answer = yield hook.call(_review(call, change, seen, uid))
    if answer.review is None:
        raise _CallFailed(f"failed to call webhook: {answer.error}")
    response = _verified(answer.review, uid)
    for warning in response.get("warnings") or ():
        call.warn(warning)
    if not response.get("allowed"):
        raise _denied(hook.name, response.get("status") or {})
    return response


def _review(call: Call, change: Admission, seen: Resource, uid: str) -> Document:
    resource, identity = call.resource, call.identity

    def shown(document: Document | None) -> Document | None:
        return document if document is None or seen is resource else {**document, "apiVersion": seen.api_version}

    namespace = call.target.namespace if resource.store != NAMESPACES else change.name
    request: Document = {
        "uid": uid,
        "kind": {"group": seen.group, "version": seen.version, "kind": seen.kind},
        "resource": {"group": seen.group, "version": seen.version, "resource": seen.plural},
        "requestKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "requestResource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "name": change.name,
        "namespace": namespace,
        "operation": change.operation,
        "userInfo": user_info(identity),
        "object": shown(change.document),
        "oldObject": shown(change.old),
        "dryRun": change.dry_run,
        "options": {"kind": _OPTIONS[change.operation], "apiVersion": "meta.k8s.io/v1"},
    }
    if call.target.subresource:
        request["subResource"] = request["requestSubResource"] = call.target.subresource
    request = {name: value for name, value in request.items() if value or name not in ("name", "namespace")}
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _verified(review: Document, uid: str) -> Document:
    invalid = "received invalid webhook response: "
    response = review.get("response")
    if not isinstance(response, dict):
        raise _CallFailed(invalid + "webhook response was absent")
    if response.get("uid") != uid:
        raise _CallFailed(f'{invalid}expected response.uid="{uid}", got "{response.get("uid", "")}"')
    if review.get("kind") != "AdmissionReview" or review.get("apiVersion") != "admission.k8s.io/v1":
        got = f"{review.get('apiVersion', '')}, Kind={review.get('kind', '')}"
        raise _CallFailed(f"{invalid}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {got}")
    if response.get("patch") and response.get("patchType") != "JSONPatch":
        raise _CallFailed(f'{invalid}webhook returned invalid response.patchType of "{response.get("patchType", "")}"')
    return response


def _patched(change: Admission, hook: Hook, response: Document) -> Document | None:
    if not response.get("patch"):
        return change.document
    try:
        operations = decode(base64.b64decode(response["patch"]))
    except (binascii.Error, msgspec.DecodeError) as error:
        raise _CallFailed(f"received undecodable patch in webhook response: {error}") from None
    if not operations:
        return change.document
    if change.document is None:
        why = (
            f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this operation'
        )
        raise failure.internal(why)
    try:
        return json_patch.apply(change.document, operations)
    except PatchError as error:
        raise failure.internal(error.message) from None


def _denied(name: str, status: Document) -> failure.Failure:
    denied = f'admission webhook "{name}" denied the request'
    why = status.get("message") or status.get("reason")
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    code = max(int(status.get("code") or 0), 400)
    return failure.Failure(code, status.get("reason") or "", message, status.get("details"))

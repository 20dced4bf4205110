"""Which webhooks a write concerns: rules, selectors and match conditions of the two configuration kinds.

Source: k8s.io/apiserver pkg/admission/plugin/webhook/{generic,predicates,matchconditions}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hub.local.apiserver import failure, webhooks
from hub.local.apiserver.call import Call
from hub.local.apiserver.cel_engine import cel
from hub.local.apiserver.identity import user_info
from hub.local.apiserver.resources import NAMESPACES, Resource
from hub.local.apiserver.store import State
from hub.local.apiserver.webhooks import WebhookCall
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from hub.local.apiserver.admission import Admission


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a configuration; ``settings`` is its document."""

    name: str
    settings: Document
    conditions: tuple[tuple[str, Any], ...] = field(default=())

    @property
    def ignores_failures(self) -> bool:
        return bool(self.settings.get("failurePolicy") == "Ignore")

    def call(self, review: Document) -> WebhookCall:
        timeout = float(self.settings.get("timeoutSeconds") or 10)
        return webhooks.to_client(self.name, self.settings.get("clientConfig") or {}, review, timeout)


class HookTable:
    """The parsed webhooks of each configuration kind, renewed when one was written."""

    def __init__(self) -> None:
        self._parsed: dict[str, tuple[int, tuple[Hook, ...]]] = {}

    def get(self, state: State, store: str) -> tuple[Hook, ...]:
        collection = state.collection(store)
        position = collection.dropped + len(collection.log)
        known = self._parsed.get(store)
        if known is None or known[0] != position:
            found = tuple(
                _hook(settings)
                for stored in collection.in_namespace("")
                for settings in stored.document().get("webhooks") or ()
            )
            known = self._parsed[store] = (position, found)
        return known[1]


def hooks(state: State, store: str) -> tuple[Hook, ...]:
    """All webhooks in the order of their configurations' names."""
    table: HookTable = state.hooks
    return table.get(state, store)


def _hook(settings: Document) -> Hook:
    conditions = tuple(
        (condition["name"], cel.compile(condition["expression"])) for condition in settings.get("matchConditions") or ()
    )
    return Hook(settings["name"], settings, conditions)


def concerned(call: Call, change: Admission, hook: Hook) -> Resource | None:
    """The version of the resource to show to the hook; None when the write is not its business."""
    if not _namespace_matches(call, change, hook) or not _object_matches(change, hook):
        return None
    seen = _matched_resource(call, change, hook)
    if seen is None or not _conditions_hold(call, change, hook):
        return None
    return seen


def _matched_resource(call: Call, change: Admission, hook: Hook) -> Resource | None:
    rules = hook.settings.get("rules") or ()
    subresource = call.target.subresource
    if any(_rule_matches(rule, call, call.resource, change.operation, subresource) for rule in rules):
        return call.resource
    if hook.settings.get("matchPolicy", "Equivalent") != "Equivalent" or not call.resource.custom:
        return None
    for rule in rules:
        for other in call.state.resources.of_store(call.resource.store):
            if _rule_matches(rule, call, other, change.operation, subresource):
                return other
    return None


def _rule_matches(rule: Document, call: Call, resource: Resource, operation: str, subresource: str) -> bool:
    return (
        _scope_matches(rule.get("scope") or "*", call)
        and _has(rule.get("operations"), operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_names(text, resource.plural, subresource) for text in rule.get("resources") or ())
    )


def _scope_matches(scope: str, call: Call) -> bool:
    namespaced = bool(call.target.namespace) and call.resource.store != NAMESPACES
    return scope == "*" or (scope == "Namespaced") is namespaced


def _has(items: list[str] | None, wanted: str) -> bool:
    return any(item in ("*", wanted) for item in items or ())


def _names(text: str, plural: str, subresource: str) -> bool:
    resource, _, sub = text.partition("/")
    return resource in ("*", plural) and sub in ("*", subresource)


def selector_matches(selector: Document | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector against labels; an empty or absent one matches everything (webhooks' reading)."""
    if not selector:
        return True
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression_matches(expression, labels) for expression in selector.get("matchExpressions") or ())


def _expression_matches(expression: Document, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
    return value is None


def _namespace_matches(call: Call, change: Admission, hook: Hook) -> bool:
    selector = hook.settings.get("namespaceSelector")
    if not selector:
        return True
    if call.resource.store == NAMESPACES:
        document = change.document or change.old or {}
        return selector_matches(selector, (document.get("metadata") or {}).get("labels") or {})
    if not call.target.namespace:
        return True
    stored = call.state.get(NAMESPACES, "", call.target.namespace)
    if stored is None:
        raise failure.not_found("", "namespaces", call.target.namespace)
    return selector_matches(selector, stored.labels or {})


def _object_matches(change: Admission, hook: Hook) -> bool:
    selector = hook.settings.get("objectSelector")
    if not selector:
        return True
    documents = [document for document in (change.document, change.old) if document is not None]
    return any(selector_matches(selector, document["metadata"].get("labels") or {}) for document in documents)


def _conditions_hold(call: Call, change: Admission, hook: Hook) -> bool:
    if not hook.conditions:
        return True
    variables = {
        "object": change.document,
        "oldObject": change.old,
        "request": {
            "name": change.name,
            "namespace": call.target.namespace,
            "operation": change.operation,
            **({"subResource": call.target.subresource} if call.target.subresource else {}),
            "dryRun": change.dry_run,
            "kind": {"group": call.resource.group, "version": call.resource.version, "kind": call.resource.kind},
            "resource": {
                "group": call.resource.group,
                "version": call.resource.version,
                "resource": call.resource.plural,
            },
            "userInfo": user_info(call.identity),
        },
    }
    faults = []
    for name, program in hook.conditions:
        try:
            if not program.execute(variables):
                return False
        except (ValueError, RuntimeError, TypeError) as error:
            faults.append(f"{name}: {error}")
    if not faults or hook.ignores_failures:
        return not faults
    why = f"failed evaluating match conditions of admission webhook {hook.name}: {'; '.join(faults)}"
    raise failure.forbidden(call.resource.group, call.resource.plural, change.name, why)

"""The pod failure policy and success policy of a Job, checked as the real server checks them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hub.local.apiserver.schema import field_errors, name_rules
from hub.local.apiserver.schema.field_errors import OMITTED, FieldError
from worker_agent.api.document import get

ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS: Final = ("In", "NotIn")
STATUSES: Final = ("False", "True", "Unknown")
MOST_RULES: Final = 20
MOST_EXIT_CODES: Final = 255


def errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Complaints about both policies of a JobSpec; nothing where it has none."""
    policy = spec.get("podFailurePolicy")
    if policy is not None:
        rules = policy.get("rules") or ()
        yield from _rule_errors(spec, rules, f"{path}.podFailurePolicy.rules")
    success = spec.get("successPolicy")
    if success is not None:
        yield from _success_errors(spec, success, f"{path}.successPolicy")


def _listed(values: Sequence[str]) -> str:
    return "valid values: [" + " ".join(field_errors.quote(value) for value in values) + "]"


def _rule_errors(spec: Mapping[str, Any], rules: Sequence[Mapping[str, Any]], path: str) -> Iterator[FieldError]:
    if len(rules) > MOST_RULES:
        yield field_errors.too_many(path, len(rules), MOST_RULES)
    pod = get(spec, "template.spec", {})
    names = {c.get("name") for field in ("containers", "initContainers") for c in pod.get(field) or ()}
    for index, rule in enumerate(rules):
        place = f"{path}[{index}]"
        yield from _action_errors(spec, rule.get("action", ""), f"{place}.action")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            yield from _exit_code_errors(codes, f"{place}.onExitCodes", names)
        for position, pattern in enumerate(conditions):
            yield from _pattern_errors(pattern, f"{place}.onPodConditions[{position}]")
        if codes is not None and conditions:
            words = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield field_errors.invalid(place, OMITTED, words)
        if codes is None and not conditions:
            words = "specifying one of OnExitCodes and OnPodConditions is required"
            yield field_errors.invalid(place, OMITTED, words)


def _action_errors(spec: Mapping[str, Any], action: str, path: str) -> Iterator[FieldError]:
    if not action:
        yield field_errors.required(path, _listed(ACTIONS))
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield field_errors.invalid(path, action, "requires the backoffLimitPerIndex to be set")
    elif action not in ACTIONS:
        yield field_errors.not_supported(path, action, ACTIONS)


def _pattern_errors(pattern: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for complaint in name_rules.label_key(pattern.get("type", "")):
        yield field_errors.invalid(f"{path}.type", pattern.get("type", ""), complaint)
    status = pattern.get("status", "")
    if not status:
        yield field_errors.required(f"{path}.status", _listed(STATUSES))
    elif status not in STATUSES:
        yield field_errors.not_supported(f"{path}.status", status, STATUSES)


def _exit_code_errors(codes: Mapping[str, Any], path: str, names: set[Any]) -> Iterator[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield field_errors.required(f"{path}.operator", _listed(OPERATORS))
    elif operator not in OPERATORS:
        yield field_errors.not_supported(f"{path}.operator", operator, OPERATORS)
    if codes.get("containerName") is not None and codes["containerName"] not in names:
        words = "must be one of the container or initContainer names in the pod template"
        yield field_errors.invalid(f"{path}.containerName", codes["containerName"], words)
    if not values:
        yield field_errors.invalid(f"{path}.values", values, "at least one value is required")
    elif len(values) > MOST_EXIT_CODES:
        yield field_errors.too_many(f"{path}.values", len(values), MOST_EXIT_CODES)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield field_errors.invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield field_errors.duplicate(f"{path}.values[{index}]", value)
    if list(values) != sorted(values):
        yield field_errors.invalid(f"{path}.values", values, "must be ordered")


def _success_errors(spec: Mapping[str, Any], policy: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if spec.get("completionMode") != "Indexed":
        yield field_errors.invalid(path, policy, "requires indexed completion mode")
        return
    rules = policy.get("rules") or ()
    if not rules:
        words = "at least one rules must be specified when the successPolicy is specified"
        yield field_errors.required(f"{path}.rules", words)
    if len(rules) > MOST_RULES:
        yield field_errors.too_many(f"{path}.rules", len(rules), MOST_RULES)
    completions = spec.get("completions") or 0
    for index, rule in enumerate(rules):
        count = rule.get("succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            words = "at least one of succeededCount or succeededIndexes must be specified"
            yield field_errors.required(f"{path}.rules[{index}]", words)
        if count is not None and count > completions:
            words = f"must be less than or equal to {completions} (the number of specified completions)"
            yield field_errors.invalid(f"{path}.rules[{index}].succeededCount", count, words)

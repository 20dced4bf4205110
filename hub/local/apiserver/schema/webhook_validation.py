"""Webhook configurations checked. Source: kubernetes pkg/apis/admissionregistration/validation."""

from collections.abc import Iterator, Sequence
from typing import Final

from hub.local.apiserver.schema import client_config_validation, field_errors, name_rules
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document

SAFE_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES: Final = ("*", "Cluster", "Namespaced")


def errors(document: Document, _old: Document | None, _subresource: str) -> Iterator[FieldError]:
    """A mutating or validating configuration."""
    seen: set[str] = set()
    for index, webhook in enumerate(document.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        name = webhook.get("name") or ""
        if name in seen:
            yield field_errors.duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _webhook_errors(webhook, path)


def _webhook_errors(webhook: Document, path: str) -> Iterator[FieldError]:
    yield from _name_errors(webhook.get("name") or "", f"{path}.name")
    for index, rule in enumerate(webhook.get("rules") or ()):
        yield from _rule_errors(rule, f"{path}.rules[{index}]")
    yield from _choice(webhook, "failurePolicy", FAILURE_POLICIES, path)
    yield from _choice(webhook, "matchPolicy", MATCH_POLICIES, path)
    effects = webhook.get("sideEffects")
    if not effects:
        yield field_errors.required(f"{path}.sideEffects", f"must specify one of {', '.join(SAFE_SIDE_EFFECTS)}")
    elif effects not in SAFE_SIDE_EFFECTS:
        yield field_errors.not_supported(f"{path}.sideEffects", effects, SAFE_SIDE_EFFECTS)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        words = "the timeout value must be between 1 and 30 seconds"
        yield field_errors.invalid(f"{path}.timeoutSeconds", seconds, words)
    yield from _choice(webhook, "reinvocationPolicy", REINVOCATION_POLICIES, path)
    yield from client_config_validation.errors(webhook.get("clientConfig") or {}, f"{path}.clientConfig")
    detail = f"must specify one of {', '.join(client_config_validation.REVIEW_VERSIONS)}"
    versions = webhook.get("admissionReviewVersions") or ()
    yield from client_config_validation.review_version_errors(versions, f"{path}.admissionReviewVersions", detail)


def _name_errors(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield field_errors.required(path)
        return
    complaints = name_rules.dns1123_subdomain(name)
    for complaint in complaints:
        yield field_errors.invalid(path, name, complaint)
    if not complaints and name.count(".") < 2:
        words = "should be a domain with at least three segments separated by dots"
        yield field_errors.invalid(path, name, words)


def _choice(webhook: Document, field: str, allowed: Sequence[str], path: str) -> Iterator[FieldError]:
    value = webhook.get(field)
    if value is not None and value not in allowed:
        yield field_errors.not_supported(f"{path}.{field}", value, allowed)


def _rule_errors(rule: Document, path: str) -> Iterator[FieldError]:
    operations = rule.get("operations") or []
    if not operations:
        yield field_errors.required(f"{path}.operations")
    if "*" in operations and len(operations) > 1:
        words = "if '*' is present, must not specify other operations"
        yield field_errors.invalid(f"{path}.operations", operations, words)
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield field_errors.not_supported(f"{path}.operations[{index}]", operation, OPERATIONS)
    for field, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        given = rule.get(field) or []
        if not given:
            yield field_errors.required(f"{path}.{field}")
        if "*" in given and len(given) > 1:
            complaint = f"if '*' is present, must not specify other {words}"
            yield field_errors.invalid(f"{path}.{field}", given, complaint)
    if not rule.get("resources"):
        yield field_errors.required(f"{path}.resources")
    yield from _choice(rule, "scope", SCOPES, path)

"""Labels, annotations, selectors, taints and tolerations: the maps and lists that many kinds hold.

``path`` is where the map or list stands; a broken label or annotation is reported at the map, without its key.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from worker_agent.api.document import Document
from worker_agent.validation import formats
from worker_agent.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)

MAX_ANNOTATIONS_BYTES: Final = 256 * 1024


def labels(found: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    """Keys and values of a label map."""
    errors = []
    for key, value in (found or {}).items():
        errors += label_name(key, path)
        errors += [invalid(path, value, message) for message in formats.label_value(value or "")]
    return errors


def label_name(key: str, path: str) -> list[FieldError]:
    return [invalid(path, key, message) for message in formats.label_key(key)]


def annotations(found: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    """Keys, in any case of letters, and the size of all together."""
    errors = [invalid(path, key, message) for key in (found or {}) for message in formats.label_key(key.lower())]
    size = sum(len(key.encode()) + len((value or "").encode()) for key, value in (found or {}).items())
    return [*errors, too_long(path, MAX_ANNOTATIONS_BYTES)] if size > MAX_ANNOTATIONS_BYTES else errors


def label_selector(selector: Document | None, path: str) -> list[FieldError]:
    """An ordinary label selector; None selects nothing and is well-formed."""
    found = selector or {}
    errors = labels(found.get("matchLabels"), f"{path}.matchLabels")
    for index, expression in enumerate(found.get("matchExpressions") or ()):
        errors += _expression(expression, f"{path}.matchExpressions[{index}]")
    return errors


def _expression(expression: Document, path: str) -> list[FieldError]:
    values = expression.get("values") or []
    operator = expression.get("operator", "")
    errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(
                forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    errors += label_name(expression.get("key", ""), f"{path}.key")
    for index, value in enumerate(values):
        errors += [invalid(f"{path}.values[{index}]", value, message) for message in formats.label_value(value)]
    return errors


def taints(found: Iterable[Document], path: str) -> list[FieldError]:
    """Keys and values, and no two of the same key and effect."""
    errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(found):
        here, key = f"{path}[{index}]", taint.get("key", "")
        errors += label_name(key, f"{here}.key")
        broken = formats.label_value(taint.get("value", ""))
        if broken:
            errors.append(invalid(f"{here}.value", taint.get("value"), ";".join(broken)))
        if (key, taint.get("effect", "")) in seen:
            errors.append(duplicate(here, taint, "taints must be unique by key and effect pair"))
        seen.add((key, taint.get("effect", "")))
    return errors


def tolerations(found: Iterable[Document], path: str) -> list[FieldError]:
    """Keys; an empty one stands for every taint. The rest is the schema's."""
    return [
        error
        for index, toleration in enumerate(found)
        if toleration.get("key")
        for error in label_name(toleration["key"], f"{path}[{index}].key")
    ]


def conditions(found: Iterable[Document], path: str) -> list[FieldError]:
    """Well-formed API conditions, one of each type."""
    errors = []
    seen: set[str] = set()
    for index, condition in enumerate(found):
        here, kind = f"{path}[{index}]", condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{here}.type", kind))
        seen.add(kind)
        errors += _condition(condition, here)
    return errors


def _condition(condition: Document, path: str) -> list[FieldError]:
    errors = label_name(condition.get("type", ""), f"{path}.type")
    status, reason = condition.get("status", ""), condition.get("reason", "")
    if status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", status, _STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        errors.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime", "must be set"))
    if not reason:
        errors.append(required(f"{path}.reason", "must be set"))
    else:
        errors += [invalid(f"{path}.reason", reason, message) for message in formats.condition_reason(reason)]
    for name, most in (("reason", 1024), ("message", 32 * 1024)):
        if len(condition.get(name) or "") > most:
            errors.append(too_long(f"{path}.{name}", most))
    return errors


_STATUSES: Final = ("False", "True", "Unknown")

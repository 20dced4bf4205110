"""Quantities in documents: unreadable and negative ones are errors of their field."""

from typing import Any

from worker_agent.api import quantity
from worker_agent.validation.field_error import FieldError, invalid

NOT_NEGATIVE = "must be greater than or equal to 0"


def not_negative(value: Any, path: str) -> list[FieldError]:
    """Errors of one quantity that may not be below zero."""
    try:
        below = quantity.nanos(value) < 0
    except quantity.QuantityError as error:
        return [invalid(path, value, str(error))]
    return [invalid(path, printed(value), NOT_NEGATIVE)] if below else []


def nanos(value: Any) -> int:
    """The value in billionths, 0 for what cannot be read (that is an error of its own, said once)."""
    try:
        return quantity.nanos(value)
    except quantity.QuantityError:
        return 0


def printed(value: Any) -> str:
    """As Kubernetes prints it; what cannot be read, as it stands."""
    try:
        return quantity.canonical(value)
    except quantity.QuantityError:
        return str(value)

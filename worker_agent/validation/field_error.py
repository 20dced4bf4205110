"""One violation at one field, and the text Kubernetes prints for it (apimachinery/pkg/util/validation/field)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec


class ErrorType(StrEnum):
    """The value is what a Status cause carries as its reason."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_WORDS: Final = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.INTERNAL: "Internal error",
    ErrorType.TYPE_INVALID: "Invalid value",
}
_WITHOUT_VALUE: Final = frozenset(
    {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL, ErrorType.TYPE_INVALID}
)


class _Omitted:
    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = _Omitted()
"""In place of a value that would only lengthen the message."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """``str()`` gives ``spec.x: Invalid value: "v": detail``."""

    type: ErrorType
    field: str
    detail: str = ""
    value: Any = OMIT

    @property
    def body(self) -> str:
        """The text without the field, as it stands in a Status cause."""
        words = _WORDS[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMIT:
            words += f": {_printed(self.value)}"
        return f"{words}: {self.detail}" if self.detail else words

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, field, detail, value)


def required(field: str, detail: str) -> FieldError:
    return FieldError(ErrorType.REQUIRED, field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, field, detail)


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    return FieldError(ErrorType.DUPLICATE, field, detail, value)


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, field, "", value)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    quoted = ", ".join(_printed(choice) for choice in supported)
    return FieldError(ErrorType.NOT_SUPPORTED, field, f"supported values: {quoted}" if quoted else "", value)


def too_long(field: str, bytes_at_most: int) -> FieldError:
    return FieldError(ErrorType.TOO_LONG, field, f"may not be more than {bytes_at_most} bytes")


def too_many(field: str, count: int, at_most: int) -> FieldError:
    items = "items" if at_most != 1 else "item"
    return FieldError(ErrorType.TOO_MANY, field, f"must have at most {at_most} {items}", count)


def immutable(field: str, value: Any) -> FieldError:
    return invalid(field, value, "field is immutable")


def aggregate(errors: Iterable[FieldError]) -> str:
    """One line for all: the text of a single error, or ``[a, b]``; the same text is not said twice."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _printed(value: Any) -> str:
    if isinstance(value, _Omitted):
        return ""
    return msgspec.json.encode(value).decode()

"""One broken rule about one field, in the words of Kubernetes (k8s.io/apimachinery/pkg/util/validation/field)."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class ErrorType(Enum):
    """Name as programs see it (``reason`` of a status cause) and as it stands in messages."""

    INVALID = ("FieldValueInvalid", "Invalid value")
    REQUIRED = ("FieldValueRequired", "Required value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    NOT_FOUND = ("FieldValueNotFound", "Not found")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")

    @property
    def reason(self) -> str:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


_WITHOUT_VALUE: Final = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG})

IMMUTABLE: Final = "field is immutable"


@dataclass(frozen=True, slots=True)
class FieldError:
    """``field`` is a path such as ``spec.podSets[0].count``; ``str()`` is the message Kubernetes would give."""

    type: ErrorType
    field: str
    detail: str = ""
    value: Any = ""

    def __str__(self) -> str:
        said = self.type.words
        if self.type not in _WITHOUT_VALUE:
            said += f": {_shown(self.value)}"
        if self.detail:
            said += f": {self.detail}"
        return f"{self.field}: {said}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, field, detail, value)


def immutable(field: str, value: Any) -> FieldError:
    return FieldError(ErrorType.INVALID, field, IMMUTABLE, value)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, field, detail)


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    return FieldError(ErrorType.DUPLICATE, field, detail, value)


def too_long(field: str, value: Any, limit: int) -> FieldError:
    return FieldError(ErrorType.TOO_LONG, field, f"may not be more than {limit} bytes", value)


def aggregate(errors: list[FieldError]) -> str:
    """Several errors in one message: ``[a, b]``; each text once, a single one as it is."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

"""Field errors as the real server prints them, and the Status causes made of them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
DUPLICATE: Final = "FieldValueDuplicate"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
TOO_SHORT: Final = "FieldValueTooShort"
NOT_FOUND: Final = "FieldValueNotFound"
INTERNAL: Final = "InternalError"

TITLES: Final = {
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    DUPLICATE: "Duplicate value",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    TOO_SHORT: "Too short",
    NOT_FOUND: "Not found",
    INTERNAL: "Internal error",
}
WITHOUT_VALUE: Final = {REQUIRED, FORBIDDEN, TOO_LONG, TOO_SHORT, INTERNAL}

OMITTED: Final[Any] = object()
"""A bad value that is not printed (objects and lists in CEL errors)."""

ESCAPES: Final = {
    "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"
}  # fmt: skip


def quote(text: str) -> str:
    """Go's %q for text: printable characters stay, the others are escaped."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_number(value: float) -> str:
    """Go's %v of a float64: the shortest text, exponent from 1e21 on and below 1e-4, no trailing ``.0``."""
    text = repr(float(value))
    magnitude = abs(value)
    if magnitude != 0 and (magnitude < 1e-4 or magnitude >= 1e21):
        mantissa, _, exponent = f"{value!r}".partition("e")
        if not exponent:
            mantissa, _, exponent = f"{value:e}".partition("e")
            mantissa = mantissa.rstrip("0").rstrip(".")
        sign = "-" if exponent.startswith("-") else "+"
        return f"{mantissa}e{sign}{exponent.lstrip('+-').zfill(2)}"
    if "e" in text:
        text = f"{value:.0f}"
    return text.removesuffix(".0")


def go_json(value: Any) -> str:
    """Compact JSON with sorted keys and HTML characters escaped, as Go's encoding/json writes it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def go_type(value: Any) -> str:
    """The Go type a JSON value decodes to."""
    names = {bool: "bool", str: "string", int: "int64", float: "float64", dict: "map[string]interface {}"}
    return names.get(type(value), "[]interface {}")


def go_text(value: Any) -> str:
    """Go's %v of a JSON value."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_text(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def shown(value: Any) -> str:
    """A bad value as a field error prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return go_number(value)
    return go_json(value)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One complaint about one field; ``str()`` gives ``spec.x: Invalid value: "v": detail``."""

    type: str
    field: str
    detail: str = ""
    value: Any = ""

    @property
    def body(self) -> str:
        title = TITLES[self.type]
        text = title if self.type in WITHOUT_VALUE or self.value is OMITTED else f"{title}: {shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def cause(self) -> dict[str, str]:
        """The entry of a Status' ``details.causes``."""
        return {"reason": self.type, "message": self.body, "field": self.field}


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(REQUIRED, field, detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(INVALID, field, detail, value)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(TYPE_INVALID, field, detail, value)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(FORBIDDEN, field, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(DUPLICATE, field, "", value)


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    detail = "supported values: " + ", ".join(quote(item) for item in allowed) if allowed else ""
    return FieldError(NOT_SUPPORTED, field, detail, value)


def too_long(field: str, limit: int) -> FieldError:
    return FieldError(TOO_LONG, field, f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    return FieldError(TOO_MANY, field, f"must have at most {limit} {'item' if limit == 1 else 'items'}", actual)


def joined(errors: Iterable[FieldError]) -> str:
    """How a Status message lists errors: one plain, several in brackets, repeats once."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

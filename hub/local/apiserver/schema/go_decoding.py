"""Objects of built-in kinds as they come out of the Go structs of the real server.

Decoding into a struct does what no schema says: nulls and empty values of ``omitempty`` fields vanish, quantities and
times are rewritten in their canonical form, and a value of the wrong type is refused with the words of Go's JSON
decoder. Which Go type stands behind a field comes with the data file.
"""

import base64
import binascii
import functools
import re
from datetime import UTC
from typing import Any, Final

from hub.local.apiserver.schema import defaulting, field_errors
from hub.local.apiserver.schema.node import MISSING, QUANTITY, Node
from worker_agent.api import openapi_data, quantity, timestamps

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
INTEGERS: Final = {"int32": 2**31, "int64": 2**63, "int": 2**63, "uint8": 2**8}
QUANTITY_WORDS: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WHOLE_SECONDS: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")
"""Times that are canonical already; days after the 28th are looked at more closely."""
ALIASES: Final = re.compile(r"\b(?:corev1|metav1|apiextensionsv1|rbacv1|batchv1|autoscalingv1)\.")
LOCAL_TYPE: Final = re.compile(r"(?<![\w.])([A-Z]\w*)")


class DecodeError(ValueError):
    """A value its Go field cannot hold; the message is what Go's decoder says, without the kind before it."""


class Place:
    """Where in the object decoding stands: the innermost struct, the path of field names, the Go type of the field."""

    __slots__ = ("go_type", "path", "struct")

    def __init__(self, struct: str, path: str, go_type: str) -> None:
        self.struct = struct
        self.path = path
        self.go_type = go_type

    def refuse(self, value: Any, go_type: str, *, literal: bool = False) -> DecodeError:
        word = json_word(value)
        if literal:
            word = f"number {field_errors.go_json(value)}"
        place = f"Go struct field {self.struct}.{self.path}" if self.path else "Go value"
        return DecodeError(f"json: cannot unmarshal {word} into {place} of type {go_type}")


def json_word(value: Any) -> str:
    """Go's word for a JSON value."""
    if isinstance(value, bool):
        return "bool"
    return {str: "string", int: "number", float: "number", list: "array", dict: "object"}[type(value)]


def decode(document: dict[str, Any], root: Node) -> dict[str, Any]:
    """The document as its Go struct would write it again. Raises DecodeError. Unknown fields stay."""
    short = root.name.rpartition(".")[2]
    decoded: dict[str, Any] = _decode(document, root, Place(short, "", f"v1.{short}"))
    return with_encoded_data(decoded, root)


def decode_metadata(document: dict[str, Any], node: Node) -> dict[str, Any]:
    """A custom resource with its metadata decoded: the one part of it that is a Go struct. Raises DecodeError."""
    metadata = document.get("metadata")
    if metadata is None:
        return document
    decoded = _decode(metadata, node, Place("", "", "v1.ObjectMeta"))
    return document if decoded is metadata else {**document, "metadata": decoded}


def with_encoded_data(secret: dict[str, Any], root: Node) -> dict[str, Any]:
    """A Secret's ``stringData`` is only a way to write ``data``: it never comes back. Other kinds stay."""
    if "stringData" not in secret or not root.name.endswith(".Secret"):
        return secret
    data = dict(secret.get("data") or {})
    for key, text in secret["stringData"].items():
        data[key] = base64.b64encode(text.encode()).decode()
    return {**{key: value for key, value in secret.items() if key != "stringData"}, "data": data}


def _decode(value: Any, node: Node, place: Place) -> Any:
    if value is None:
        return None
    special = SPECIAL.get(node.name)
    if special is not None:
        return special(value, place)
    if node.type == "object" or node.fields:
        return _decode_object(value, node, place)
    if node.type == "array":
        return _decode_list(value, node, place)
    return decode_scalar(value, node, place)


def _decode_object(value: Any, node: Node, place: Place) -> Any:
    if not isinstance(value, dict):
        raise place.refuse(value, place.go_type)
    if node.fields:
        return _decode_struct(value, node, place)
    element = node.element
    if element is None:
        return value
    inner = Place(place.struct, place.path, _map_value(place.go_type))
    changed = {}
    for key, old in value.items():
        new = zero(element) if old is None else _decode(old, element, inner)
        if new is not old:
            changed[key] = new
    return {**value, **changed} if changed else value


class Field:
    """What decoding needs to know of one struct field, worked out once."""

    __slots__ = ("go_type", "integer_bound", "is_bool", "is_text", "node", "omits_empty", "raw_type")

    def __init__(self, node: Node, declared: str) -> None:
        self.raw_type, _, options = declared.partition(",")
        self.node = node
        self.go_type = qualified(self.raw_type)
        self.omits_empty = "omitempty" in options and not self.raw_type.startswith("*")
        plain = node.name not in SPECIAL
        self.is_text = plain and node.type == "string" and node.raw.get("format") != "byte"
        self.is_bool = plain and node.type == "boolean"
        self.integer_bound = INTEGERS[node.raw.get("format", "int64")] if plain and node.type == "integer" else 0

    def fits(self, value: Any) -> bool:
        """Whether the value is a scalar that decodes to itself: most are."""
        kind = type(value)
        if kind is str:
            return self.is_text
        if kind is bool:
            return self.is_bool
        return kind is int and -self.integer_bound <= value < self.integer_bound


_FIELDS: Final[dict[str, dict[str, Field]]] = {}


def fields_of(node: Node) -> dict[str, Field]:
    """What decoding needs to know of a struct's fields."""
    known = _FIELDS.get(node.name)
    if known is None:
        go = openapi_data.load().go_fields.get(node.name, {})
        known = {key: Field(child, go.get(key, "")) for key, child in node.fields.items()}
        if node.name:
            _FIELDS[node.name] = known
    return known


def _decode_struct(value: dict[str, Any], node: Node, place: Place) -> dict[str, Any]:
    struct = node.name.rpartition(".")[2] or place.struct
    fields = fields_of(node)
    changed: dict[str, Any] = {}
    for key, old in value.items():
        field = fields.get(key)
        if field is None:
            continue
        if old is None:
            changed[key] = MISSING
            continue
        new = old
        if not field.fits(old):
            path = f"{place.path}.{key}" if place.path else key
            new = _decode(old, field.node, Place(struct, path, field.go_type))
        if new is None or (field.omits_empty and not new and is_empty(new, field.node)):
            changed[key] = MISSING
        elif new is not old:
            changed[key] = new
    always = always_present(node)
    if changed:
        value = {key: changed.get(key, old) for key, old in value.items() if changed.get(key) is not MISSING}
    missing = {key: zero for key, zero in always.items() if key not in value}
    return {**value, **defaulting.copied(missing)} if missing else value


_ALWAYS: Final[dict[str, dict[str, Any]]] = {}


def always_present(node: Node) -> dict[str, Any]:
    """The fields a struct writes even when nothing set them, with their zero values: to be copied, not changed."""
    known = _ALWAYS.get(node.name)
    if known is None:
        go = openapi_data.load().go_fields.get(node.name, {})
        known = {}
        for key, declared in go.items():
            go_type, _, options = declared.partition(",")
            child = node.fields.get(key)
            if child is not None and _is_written(child, go_type, options):
                known[key] = _zero_of(child, go_type)
        _ALWAYS[node.name] = known
    return known


def zero_object(api_version: str, kind: str, root: Node) -> dict[str, Any]:
    """An object of a built-in kind before anything is set: what a creation is compared with."""
    return {**defaulting.copied(always_present(root)), "apiVersion": api_version, "kind": kind}


def _is_written(node: Node, go_type: str, options: str) -> bool:
    if "omitzero" in options:
        return False
    return "omitempty" not in options or (not go_type.startswith("*") and (bool(node.fields) or node.name in SPECIAL))


def _zero_of(node: Node, go_type: str) -> Any:
    if go_type.startswith(("*", "[]", "map[")) or node.type == "array":
        return None
    if node.name in ZEROS:
        return ZEROS[node.name]
    if node.fields:
        return always_present(node)
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(node.type)


def is_empty(value: Any, node: Node) -> bool:
    """Whether ``omitempty`` leaves the value of a field that is no pointer out: zero, false or without entries."""
    if isinstance(value, dict):
        return not value and not node.fields
    return value in ("", 0, False, []) if not isinstance(value, float) else value == 0


def _decode_list(value: Any, node: Node, place: Place) -> Any:
    if not isinstance(value, list):
        raise place.refuse(value, place.go_type)
    element = node.element
    if element is None:
        return value
    inner = Place(place.struct, place.path, place.go_type.removeprefix("[]"))
    items = [zero(element) if item is None else _decode(item, element, inner) for item in value]
    return items if any(new is not old for new, old in zip(items, value, strict=True)) else value


def zero(node: Node) -> Any:
    """What a null decodes to where there is no pointer."""
    if node.default is not MISSING:
        return node.default
    return {"string": "", "integer": 0, "boolean": False, "array": None}.get(node.type, {} if node.fields else "0")


def decode_scalar(value: Any, node: Node, place: Place) -> Any:
    """A scalar checked against its type. Raises DecodeError."""
    if node.type == "string":
        if not isinstance(value, str):
            raise place.refuse(value, place.go_type)
        if node.raw.get("format") == "byte":
            check_base64(value)
    elif node.type == "boolean":
        if not isinstance(value, bool):
            raise place.refuse(value, place.go_type)
    elif node.type == "integer":
        _check_integer(value, node, place)
    elif node.type == "number" and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise place.refuse(value, place.go_type)
    return value


def _check_integer(value: Any, node: Node, place: Place) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise place.refuse(value, place.go_type)
    bound = INTEGERS[node.raw.get("format", "int64")]
    if isinstance(value, float) or not -bound <= value < bound:
        raise place.refuse(value, place.go_type, literal=True)


def check_base64(text: str) -> None:
    """Raise DecodeError where Go's base64 decoder would: newlines are skipped, padding is required."""
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        allowed = re.match(r"[A-Za-z0-9+/\r\n]*", text)
        position = allowed.end() if allowed else 0
        raise DecodeError(f"illegal base64 data at input byte {min(position, len(text))}") from None


@functools.cache
def qualified(go_type: str) -> str:
    """A Go type as reflection names it: no pointer, local names with their package ``v1``."""
    return LOCAL_TYPE.sub(r"v1.\1", ALIASES.sub("v1.", go_type.lstrip("*"))).replace("v1.v1.", "v1.")


@functools.cache
def _map_value(go_type: str) -> str:
    match = re.match(r"map\[[\w.]+\]\*?(.*)", go_type)
    return match[1] if match else "string"


def _quantity(value: Any, _place: Place) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise DecodeError(QUANTITY_WORDS)
    text = _canonical(value)
    return value if text == value and isinstance(value, str) else text


@functools.lru_cache(4096)
def _canonical(value: str | float) -> str:
    try:
        return quantity.canonical(value)
    except ValueError:
        raise DecodeError(QUANTITY_WORDS) from None


def _time(value: Any, place: Place) -> Any:
    if isinstance(value, str) and WHOLE_SECONDS.fullmatch(value):
        return value
    instant = _instant(value, place, "2006-01-02T15:04:05Z07:00")
    return None if instant is None else timestamps.rfc3339(instant)


def _micro_time(value: Any, place: Place) -> Any:
    instant = _instant(value, place, "2006-01-02T15:04:05.000000Z07:00")
    return None if instant is None else timestamps.rfc3339_micro(instant)


def _instant(value: Any, place: Place, layout: str) -> Any:
    if not isinstance(value, str):
        raise DecodeError(f"json: cannot unmarshal {json_word(value)} into Go value of type string")
    if not value:
        raise DecodeError(f'parsing time "" as "{layout}": cannot parse "" as "2006"')
    fraction = re.fullmatch(r"[^.Zz+]*T[^.Zz+-]*(.*)", value)
    if "." in layout and fraction is not None and not re.match(r"\.\d{6}(?!\d)", fraction[1]):
        raise DecodeError(f'parsing time "{value}" as "{layout}": cannot parse "{fraction[1]}" as ".000000"')
    try:
        return timestamps.parse(value).astimezone(UTC)
    except ValueError:
        raise DecodeError(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"') from None


def _int_or_string(value: Any, place: Place) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise place.refuse(value, "int32", literal=isinstance(value, float))
    return value


TIME: Final = f"{META}Time"
MICRO_TIME: Final = f"{META}MicroTime"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
ZEROS: Final[dict[str, Any]] = {QUANTITY: "0", TIME: None, MICRO_TIME: None, INT_OR_STRING: 0}
SPECIAL: Final = {
    QUANTITY: _quantity,
    TIME: _time,
    MICRO_TIME: _micro_time,
    INT_OR_STRING: _int_or_string,
}

"""JSON values as CEL rules see them: types by schema, escaped names, and equality."""

import re
from datetime import datetime, timedelta
from typing import Any, Final

from hub.local.apiserver.schema import structural_validation
from hub.local.apiserver.schema.node import Node

DURATION_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def converted(value: Any, node: Node, escaped: bool) -> Any:
    """A JSON value as CEL types it: timestamps, durations and numbers by schema; field names escaped if asked."""
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            child = node.child(key)
            name = escape(key) if escaped and key in node.fields else key
            result[name] = converted(item, child, escaped) if child is not None else item
        return result
    if isinstance(value, list):
        return [converted(item, node.element, escaped) for item in value] if node.element is not None else value
    return _converted_scalar(value, node)


def _converted_scalar(value: Any, node: Node) -> Any:
    if node.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return value
    shape = node.raw.get("format")
    try:
        if shape in {"date-time", "datetime"}:
            return datetime.fromisoformat(value)
        if shape == "duration":
            return _duration(value)
    except ValueError:
        return value
    return value


def _duration(text: str) -> timedelta:
    parts = re.findall(r"([0-9.]+)(h|ms|us|µs|ns|m|s)", text)
    seconds = sum(float(number) * DURATION_UNITS[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


RESERVED: Final = frozenset(
    ["true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
     "let", "loop", "package", "namespace", "return", "var", "void", "while"]
)  # fmt: skip


def escape(name: str) -> str:
    """A field name as CEL expressions write it: ``__namespace__``, ``a__dot__b``, ``a__dash__b``."""
    if name in RESERVED:
        return f"__{name}__"
    text = name.replace("__", "__underscores__").replace(".", "__dot__")
    return text.replace("-", "__dash__").replace("/", "__slash__")


def same(new: Any, old: Any, node: Node | None) -> bool:
    """Equality as CEL sees it in Kubernetes: the order of items in lists of type set and map does not count."""
    if node is not None and isinstance(new, list) and isinstance(old, list) and node.associative:
        if len(new) != len(old):
            return False
        if node.list_keys:
            correlate = structural_validation.correlation(node.raw, old)
            return all(same(item, correlate(item), node.element) for item in new)
        return all(item in old for item in new)
    if isinstance(new, dict) and isinstance(old, dict):
        if new.keys() != old.keys():
            return False
        return all(same(item, old[key], node.child(key) if node else None) for key, item in new.items())
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        element = node.element if node else None
        return all(same(item, before, element) for item, before in zip(new, old, strict=True))
    return bool(new == old)

"""Defaults of a schema filled into an object: what the real server's structural defaulting does.

The object given is never changed: parts that need a default are copied, the rest is shared.
"""

from typing import Any

from hub.local.apiserver.schema.node import MISSING, Node


def fill(value: Any, node: Node) -> Any:
    """``value`` with every default in place. A null where null is not allowed counts as absent."""
    if not node.deep_defaults:
        return value
    if isinstance(value, dict):
        return _fill_map(value, node)
    if isinstance(value, list) and node.element is not None and node.type != "object":
        return _fill_list(value, node.element)
    return value


def _fill_map(value: dict[str, Any], node: Node) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if node.defaulted is None:
        node.defaulted = tuple(pair for pair in node.fields.items() if pair[1].deep_defaults)
    for name, child in node.defaulted:
        old: Any = value.get(name, MISSING)
        new = _start(old, child)
        if new is not MISSING:
            new = fill(new, child)
            if new is not old:
                changed[name] = new
    element = node.element
    if element is not None and element.deep_defaults:
        for key, old in value.items():
            if key not in node.fields:
                new = fill(_start(None, element) if old is None else old, element)
                if new is not old:
                    changed[key] = new
    return {**value, **changed} if changed else value


def _fill_list(value: list[Any], element: Node) -> list[Any]:
    filled = [fill(_start(None, element) if item is None else item, element) for item in value]
    return filled if any(new is not old for new, old in zip(filled, value, strict=True)) else value


def _start(value: Any, node: Node) -> Any:
    """The value defaulting starts from: the default where the value is absent or a forbidden null."""
    if value is MISSING or (value is None and not node.nullable):
        return value if node.default is MISSING else copied(node.default)
    return value


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value

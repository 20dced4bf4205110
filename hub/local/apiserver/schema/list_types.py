"""Uniqueness in lists of type set and map, with the real server's ``Duplicate value`` errors."""

from collections.abc import Iterator, Sequence
from typing import Any

from hub.local.apiserver.schema import field_errors
from hub.local.apiserver.schema.field_errors import FieldError
from hub.local.apiserver.schema.node import MISSING, Node


def errors(value: Any, node: Node, path: str = "", old: Any = MISSING) -> Iterator[FieldError]:
    """Every repeated item below ``value``; each is named at its second appearance. Parts shared with ``old`` are not
    looked at."""
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item is not (was := before.get(key, MISSING)):
                yield from _child_errors(key, item, node, path, was)
    elif isinstance(value, list):
        if node.associative and len(value) > 1:
            yield from _list_errors(value, node, path)
        element = node.element
        if element is not None and element.deep_lists:
            for index, item in enumerate(value):
                yield from errors(item, element, f"{path}[{index}]")


def _child_errors(key: str, item: Any, node: Node, path: str, old: Any) -> Iterator[FieldError]:
    child = node.fields.get(key)
    if child is None:
        if node.element is not None and node.element.deep_lists:
            yield from errors(item, node.element, f"{path}[{key}]", old)
    elif child.deep_lists and (path or key != "metadata"):
        yield from errors(item, child, f"{path}.{key}" if path else key, old)


def _list_errors(value: list[Any], node: Node, path: str) -> Iterator[FieldError]:
    if _plainly_unique(value, node):
        return
    if not node.list_keys:
        for index in repeated(value):
            yield field_errors.duplicate(f"{path}[{index}]", value[index])
        return
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            yield field_errors.invalid(f"{path}[{index}]", item, detail)
            return
    keys = [{key: item[key] for key in node.list_keys if key in item} if item else {} for item in value]
    for index in repeated(keys):
        yield field_errors.duplicate(f"{path}[{index}]", keys[index])


def _plainly_unique(value: list[Any], node: Node) -> bool:
    """The common case told apart quickly: text items, or maps with one text key, all different."""
    if not node.list_keys:
        return all(type(item) is str for item in value) and len(set(value)) == len(value)
    if len(node.list_keys) > 1:
        return False
    key = node.list_keys[0]
    keys = [item.get(key) for item in value if isinstance(item, dict)]
    return len(keys) == len(value) and all(type(item) is str for item in keys) and len(set(keys)) == len(keys)


def repeated(values: Sequence[Any]) -> list[int]:
    """Indices of second appearances. Values that differ in JSON type are different."""
    if len(values) < 2:
        return []
    seen: dict[str, int] = {}
    indices = []
    for index, value in enumerate(values):
        text = field_errors.go_json(value)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            indices.append(index)
    return indices

"""Whether a value fits its schema as server-side apply asks for it, with structured-merge-diff's words."""

from typing import Any

from hub.local.apiserver.schema import field_errors, field_set, typed_values
from hub.local.apiserver.schema.node import UNTYPED, Node


def check(value: Any, node: Node, path: str = "", *, duplicates: bool = False) -> None:
    """Raise typed_values.TypeMismatch for the first thing in ``value`` that its schema does not allow, ``.path: what``.

    ``duplicates`` lets lists of type set and map hold an item twice.
    """
    if value is None or (not duplicates and _plainly_fits(value, node)):
        return
    _check(value, node, path, duplicates)


def _plainly_fits(value: Any, node: Node) -> bool:
    """Whether all is well, found out without the paths that a complaint needs; False where a closer look is due."""
    kind = type(value)
    if kind is dict:
        if not node.holds_map:
            return False
        fields, other = node.fields, node.owned_element
        for key, item in value.items():
            child = fields.get(key) or other
            if child is None or (item is not None and not _plainly_fits(item, child)):
                return False
        return True
    if kind is list:
        return node.holds_list and _items_plainly_fit(value, node)
    if kind is str:
        return node.type in {"string", ""} and node.holds_scalar
    if kind is bool:
        return node.type == "boolean"
    return kind is int and node.type in {"integer", "number"}


def _items_plainly_fit(value: list[Any], node: Node) -> bool:
    child = node.element or UNTYPED
    if node.associative:
        try:
            elements = typed_values.elements_of(value, node)
        except typed_values.TypeMismatch:
            return False
        if len(set(elements)) < len(elements):
            return False
    return all(item is None or _plainly_fits(item, child) for item in value)


def _check(value: Any, node: Node, path: str, duplicates: bool) -> None:
    if value is None:
        return
    form = typed_values.shape(value, node)
    if form == typed_values.MAP:
        if not isinstance(value, dict):
            raise typed_values.TypeMismatch(f"{path}: expected map, got &{{{field_errors.go_text(value)}}}")
        for key, item in value.items():
            child = typed_values.child_of(node, key)
            if child is None:
                raise typed_values.TypeMismatch(f"{path}.{key}: field not declared in schema")
            _check(item, child, f"{path}.{key}", duplicates)
    elif form == typed_values.LIST:
        _check_list(value, node, path, duplicates)
    else:
        _check_scalar(value, node, path)


def _check_list(value: Any, node: Node, path: str, duplicates: bool) -> None:
    if not isinstance(value, list):
        raise typed_values.TypeMismatch(f"{path}: expected list, got &{{{field_errors.go_text(value)}}}")
    child = node.element or UNTYPED
    if not node.associative:
        for index, item in enumerate(value):
            _check(item, child, f"{path}[{index}]", duplicates)
        return
    try:
        elements = typed_values.elements_of(value, node)
    except typed_values.TypeMismatch as problem:
        raise typed_values.TypeMismatch(f"{path}: {problem}") from None
    seen = set()
    for element, item in zip(elements, value, strict=True):
        if element in seen and not duplicates:
            raise typed_values.TypeMismatch(f"{path}: duplicate entries for key {field_set.text((element,))}")
        seen.add(element)
        _check(item, child, path + field_set.text((element,)), duplicates)


def _check_scalar(value: Any, node: Node, path: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if node.type in {"integer", "number"}:
        if not number:
            raise typed_values.TypeMismatch(
                f"{path}: expected numeric (int or float), got {field_errors.go_type(value)}"
            )
    elif node.type == "boolean":
        if not isinstance(value, bool):
            raise typed_values.TypeMismatch(f"{path}: expected boolean, got &{{{field_errors.go_text(value)}}}")
    elif node.type == "string" and node.raw.get("format", "byte") == "byte":
        if not isinstance(value, str):
            raise typed_values.TypeMismatch(
                f"{path}: expected string, got &value.valueUnstructured{{Value:{field_errors.go_text(value)}}}"
            )
    elif isinstance(value, (dict, list)):
        raise typed_values.TypeMismatch(f"{path}: expected any scalar, got &{{{field_errors.go_text(value)}}}")

"""Whether a value fits its schema as server-side apply asks for it, with structured-merge-diff's words."""

from typing import Any

from hub.local.apiserver.schema import field_set, typed_values
from hub.local.apiserver.schema.node import UNTYPED, Node


def check(value: Any, node: Node, path: str = "", *, duplicates: bool = False) -> None:
    """Raise typed_values.TypeMismatch for the first thing in ``value`` that its schema does not allow, ``.path: what``.

    ``duplicates`` lets lists of type set and map hold an item twice.
    """
    if value is None:
        return
    form = typed_values.shape(value, node)
    if form == typed_values.MAP:
        if not isinstance(value, dict):
            raise typed_values.TypeMismatch(f"{path}: expected map, got &{{{_go_text(value)}}}")
        for key, item in value.items():
            child = typed_values.child_of(node, key)
            if child is None:
                raise typed_values.TypeMismatch(f"{path}.{key}: field not declared in schema")
            check(item, child, f"{path}.{key}", duplicates=duplicates)
    elif form == typed_values.LIST:
        _check_list(value, node, path, duplicates)
    else:
        _check_scalar(value, node, path)


def _check_list(value: Any, node: Node, path: str, duplicates: bool) -> None:
    if not isinstance(value, list):
        raise typed_values.TypeMismatch(f"{path}: expected list, got &{{{_go_text(value)}}}")
    child = node.element or UNTYPED
    if not node.associative:
        for index, item in enumerate(value):
            check(item, child, f"{path}[{index}]", duplicates=duplicates)
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
        check(item, child, path + field_set.text((element,)), duplicates=duplicates)


def _check_scalar(value: Any, node: Node, path: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if node.type in {"integer", "number"}:
        if not number:
            raise typed_values.TypeMismatch(f"{path}: expected numeric (int or float), got {_go_type(value)}")
    elif node.type == "boolean":
        if not isinstance(value, bool):
            raise typed_values.TypeMismatch(f"{path}: expected boolean, got &{{{_go_text(value)}}}")
    elif node.type == "string" and node.raw.get("format", "byte") == "byte":
        if not isinstance(value, str):
            raise typed_values.TypeMismatch(
                f"{path}: expected string, got &value.valueUnstructured{{Value:{_go_text(value)}}}"
            )
    elif isinstance(value, (dict, list)):
        raise typed_values.TypeMismatch(f"{path}: expected any scalar, got &{{{_go_text(value)}}}")


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", int: "int64", float: "float64", dict: "map[string]interface {}"}
    return names.get(type(value), "[]interface {}")


def _go_text(value: Any) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_go_text(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)

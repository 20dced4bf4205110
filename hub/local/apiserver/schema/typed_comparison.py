"""What changed between two values, field by field, as ownership counts fields."""

from typing import Any

from hub.local.apiserver.schema import field_set, typed_values
from hub.local.apiserver.schema.field_set import FieldSet
from hub.local.apiserver.schema.node import MISSING, UNTYPED, Node

Path = tuple[str, ...]


class Comparison:
    """What differs between two values: three sets that never share a field."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: FieldSet = {}
        self.modified: FieldSet = {}
        self.removed: FieldSet = {}

    def without(self, ignored: FieldSet) -> "Comparison":
        """The same without some fields and all below them."""
        if not ignored:
            return self
        reduced = Comparison()
        reduced.added = field_set.without(self.added, ignored)
        reduced.modified = field_set.without(self.modified, ignored)
        reduced.removed = field_set.without(self.removed, ignored)
        return reduced


def compare(left: Any, right: Any, node: Node) -> Comparison:
    """What changes from ``left`` to ``right``."""
    result = Comparison()
    _compare(left, right, node, (), result)
    return result


def _compare(left: Any, right: Any, node: Node, path: Path, result: Comparison) -> None:
    if left is right:
        return
    if path and (left is MISSING or right is MISSING):
        side, value = (result.added, right) if left is MISSING else (result.removed, left)
        field_set.insert_below(side, path, typed_values.members_of(value, node))
        return
    if left is not MISSING and right is not MISSING:
        if type(left) is type(right) and left == right and node.type:
            return
        left_form, right_form = typed_values.shape(left, node), typed_values.shape(right, node)
        if left_form != right_form and left is not None and right is not None:
            _compare_as(left_form, left, right, node, path, result)
        form = right_form
    else:
        form = typed_values.shape(right if left is MISSING else left, node)
    _compare_as(form, left, right, node, path, result)


def _compare_as(form: str, left: Any, right: Any, node: Node, path: Path, result: Comparison) -> None:
    if form == typed_values.MAP:
        old = left if isinstance(left, dict) else {}
        new = right if isinstance(right, dict) else {}
        if node.atomic_map or not (old or new):
            _leaf(left, right, path, result)
            return
        _compare_maps(old, new, node, path, result)
    elif form == typed_values.LIST:
        old_items = left if isinstance(left, list) else []
        new_items = right if isinstance(right, list) else []
        if not node.associative or not (old_items or new_items):
            _leaf(left, right, path, result)
            return
        _compare_lists(old_items, new_items, node, path, result)
    else:
        _leaf(left, right, path, result)
        return
    if left is MISSING:
        field_set.insert(result.added, path)
    elif right is MISSING:
        field_set.insert(result.removed, path)


def _leaf(left: Any, right: Any, path: Path, result: Comparison) -> None:
    if left is MISSING:
        field_set.insert(result.added, path)
    elif right is MISSING:
        field_set.insert(result.removed, path)
    elif left != right or isinstance(left, bool) != isinstance(right, bool):
        field_set.insert(result.modified, path)


def _compare_maps(old: dict[str, Any], new: dict[str, Any], node: Node, path: Path, result: Comparison) -> None:
    fields, other = node.fields, node.owned_element
    for key, item in old.items():
        after = new.get(key, MISSING)
        if after is not item:
            _compare(item, after, fields.get(key) or other or UNTYPED, (*path, f"f:{key}"), result)
    for key, item in new.items():
        if key not in old:
            _compare(MISSING, item, fields.get(key) or other or UNTYPED, (*path, f"f:{key}"), result)


def _compare_lists(old: list[Any], new: list[Any], node: Node, path: Path, result: Comparison) -> None:
    child = node.element or UNTYPED
    elements, others = typed_values.elements_of(old, node), typed_values.elements_of(new, node)
    if elements != others or len(set(elements)) < len(elements):
        _compare_elements(_by_element(old, elements), _by_element(new, others), child, path, result)
        return
    for element, left, right in zip(elements, old, new, strict=True):
        if left is not right:
            _compare(left, right, child, (*path, element), result)


def _compare_elements(
    before: dict[str, list[Any]], after: dict[str, list[Any]], child: Node, path: Path, result: Comparison
) -> None:
    for element in dict.fromkeys([*before, *after]):
        left, right = before.get(element, []), after.get(element, [])
        below = (*path, element)
        if len(left) <= 1 and len(right) <= 1:
            _compare(left[0] if left else MISSING, right[0] if right else MISSING, child, below, result)
        elif len(left) >= 2 and len(right) >= 2:
            if left != right:
                field_set.insert(result.modified, below)
        elif len(left) >= 2:
            if right:
                _compare(MISSING, right[0], child, below, result)
            field_set.insert(result.removed, below)
        else:
            if left:
                _compare(left[0], MISSING, child, below, result)
            field_set.insert(result.added, below)


def _by_element(items: list[Any], elements: list[str]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for element, item in zip(elements, items, strict=True):
        result.setdefault(element, []).append(item)
    return result

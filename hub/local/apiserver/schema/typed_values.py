"""Values walked along their schema for field ownership: structured-merge-diff's typed values.

``fields_of`` says which fields a value names, ``merge`` lays an applied value over a live one, ``remove`` takes fields
out; ``typed_comparison`` says what changed, ``typed_check`` whether a value fits. Values are never changed; results
share what stayed.
"""

import re
from typing import Any, Final

import msgspec

from hub.local.apiserver.schema import field_set
from hub.local.apiserver.schema.field_set import FieldSet
from hub.local.apiserver.schema.node import MISSING, UNTYPED, Node

MAP: Final = "map"
LIST: Final = "list"
SCALAR: Final = "scalar"
Path = tuple[str, ...]
_is_plain = re.compile(r"[ !#-\[\]-~]*").fullmatch
"""Text that JSON writes as it stands, between quotes."""


class TypeMismatch(ValueError):
    """A value that does not fit its schema; the message is ``<path>: <what>`` as the real server prints it."""


def shape(value: Any, node: Node) -> str:
    """As which of the forms its schema allows a value is owned; null and misfits take the first form allowed."""
    if value is not None and value is not MISSING:
        if isinstance(value, dict):
            if node.holds_map:
                return MAP
        elif isinstance(value, list):
            if node.holds_list:
                return LIST
        elif node.holds_scalar:
            return SCALAR
    if node.holds_map:
        return MAP
    return SCALAR if node.holds_scalar else LIST


def child_of(node: Node, key: str) -> Node | None:
    """The node under which a map key is owned; None for an undeclared field."""
    return node.fields.get(key) or node.owned_element


def element_of(item: Any, node: Node) -> str:
    """The path element of an item of an owned list. Raises TypeMismatch for an item that has none."""
    if node.list_keys:
        return _keyed_element(item, node)
    if isinstance(item, dict):
        raise TypeMismatch("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise TypeMismatch("not supported: associative list with lists as elements")
    if item is None:
        raise TypeMismatch("associative list without keys has an element that's an explicit null")
    return f'v:"{item}"' if type(item) is str and _is_plain(item) else "v:" + msgspec.json.encode(item).decode()


def _keyed_element(item: Any, node: Node) -> str:
    if item is None:
        raise TypeMismatch("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise TypeMismatch("associative list with keys may not have non-map elements")
    keys = node.list_keys
    if len(keys) == 1:
        value = item.get(keys[0], MISSING)
        if type(value) is str and _is_plain(value):
            return f'k:{{"{keys[0]}":"{value}"}}'
    found = {}
    for key in sorted(keys):
        value = item.get(key, MISSING)
        if value is MISSING and node.element is not None and key in node.element.fields:
            value = node.element.fields[key].default
        if value is not MISSING:
            found[key] = value
    if not found:
        listed = " ".join(f'"{key}"' for key in keys)
        words = "associative list with keys has an element that omits all key fields"
        raise TypeMismatch(f"{words} [{listed}] (and doesn't have default values for any key fields)")
    return "k:" + msgspec.json.encode(found).decode()


def elements_of(items: list[Any], node: Node) -> list[str]:
    """The path elements of all items. Raises TypeMismatch naming the item that has none."""
    elements = []
    for index, item in enumerate(items):
        try:
            elements.append(element_of(item, node))
        except TypeMismatch as problem:
            raise TypeMismatch(f"element {index}: {problem}") from None
    return elements


def fields_of(value: Any, node: Node) -> FieldSet:
    """Every field a value names, as server-side apply counts them."""
    children: FieldSet = {}
    _collect(value, node, children)
    return children


def _collect(value: Any, node: Node, out: FieldSet) -> bool:
    """Fill ``out`` with what lies below; True when the place itself is named as one piece."""
    form = shape(value, node)
    if form == SCALAR:
        return True
    if form == MAP:
        if node.atomic_map:
            return True
        if isinstance(value, dict):
            _collect_map(value, node, out)
        return False
    if not node.associative:
        return True
    if isinstance(value, list):
        _collect_list(value, node, out)
    return False


def _collect_map(value: dict[str, Any], node: Node, out: FieldSet) -> None:
    fields, other = node.fields, node.owned_element
    for key, item in value.items():
        declared = fields.get(key)
        below: FieldSet = {}
        child = declared or other or UNTYPED
        member = _collect(item, child, below)
        if declared is None or item is None or item == {}:
            member = True
        if not below:
            if member:
                out[f"f:{key}"] = below
        else:
            if member:
                below["."] = {}
            out[f"f:{key}"] = below


def _collect_list(value: list[Any], node: Node, out: FieldSet) -> None:
    elements = elements_of(value, node)
    if len(set(elements)) == len(elements):
        repeated: set[str] = set()
    else:
        repeated = {element for element in elements if elements.count(element) > 1}
    child = node.element or UNTYPED
    for element, item in zip(elements, value, strict=True):
        below: FieldSet = {}
        if element not in repeated:
            _collect(item, child, below)
        if below:
            below["."] = {}
        out[element] = below


def members_of(value: Any, node: Node) -> FieldSet:
    """What appears with a value that was not there, or goes with it: every place of it, down to what is atomic."""
    below: FieldSet = {}
    form = shape(value, node)
    if form == MAP:
        if isinstance(value, dict) and not node.atomic_map:
            fields, other = node.fields, node.owned_element or UNTYPED
            for key, item in value.items():
                below[f"f:{key}"] = members_of(item, fields.get(key) or other)
    elif form == LIST and node.associative and isinstance(value, list):
        elements, child = elements_of(value, node), node.element or UNTYPED
        repeated = len(set(elements)) < len(elements)
        for element, item in zip(elements, value, strict=True):
            below[element] = {} if repeated and elements.count(element) > 1 else members_of(item, child)
    if below:
        below["."] = {}
    return below


def merge(live: Any, applied: Any, node: Node) -> Any:
    """``applied`` laid over ``live``: what it names wins, the rest stays. Either may be MISSING, not both."""
    if applied is MISSING or live is applied:
        return live
    if live is MISSING:
        return applied
    form = shape(applied, node)
    if form == MAP and not node.atomic_map:
        return _merge_map(live, applied, node)
    if form == LIST and node.associative:
        return _merge_list(live, applied, node)
    return applied


def _merge_map(live: Any, applied: Any, node: Node) -> Any:
    before = live if isinstance(live, dict) else {}
    if not applied:
        return before or applied
    changed: dict[str, Any] = {}
    fields, other = node.fields, node.owned_element
    for key, item in applied.items():
        old = before.get(key, MISSING)
        if old is item:
            continue
        new = merge(old, item, fields.get(key) or other or UNTYPED)
        if new is not old:
            changed[key] = new
    if not changed and isinstance(live, dict):
        return live
    return {**before, **changed}


def _merge_list(live: Any, applied: Any, node: Node) -> Any:
    before = live if isinstance(live, list) else []
    if not applied:
        return before or applied
    if not before:
        return applied
    left, right = elements_of(before, node), elements_of(applied, node)
    if left == right and len(set(left)) == len(left):  # as it mostly is
        child = node.element or UNTYPED
        merged = [merge(old, new, child) for old, new in zip(before, applied, strict=True)]
    else:
        merged = [_merged_item(element, before, left, applied, right, node) for element in _merged_order(left, right)]
    if len(merged) == len(before) and all(new is old for new, old in zip(merged, before, strict=True)):
        return live
    return merged


def _merged_item(
    element: tuple[int, int], before: list[Any], left: list[str], applied: list[Any], right: list[str], node: Node
) -> Any:
    from_left, from_right = element
    if from_right < 0:
        return before[from_left]
    item = applied[from_right]
    name = right[from_right]
    if left.count(name) != 1:
        return item
    return merge(before[left.index(name)], item, node.element or UNTYPED)


def _merged_order(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """In which order merged items stand, as pairs of (index in left, -1) or (-1, index in right)."""
    in_left, in_right = set(left), set(right)
    shared = [name for name in right if name in in_left]
    shared_at = 0
    done: set[str] = set()
    order: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) or j < len(right):
        wanted = shared[shared_at] if shared_at < len(shared) else None
        if i < len(left) and j < len(right):
            if left[i] == right[j]:
                done.add(right[j])
                order.append((-1, j))
                i, j, shared_at = i + 1, j + 1, shared_at + 1
                continue
            if left[i] in in_right and wanted is not None and wanted != left[i]:
                i += 1
                continue
        if i < len(left):
            if left[i] not in in_right:
                order.append((i, -1))
                i += 1
                continue
            if left[i] in done:
                i += 1
        if j < len(right):
            done.add(right[j])
            order.append((-1, j))
            if wanted == right[j]:
                shared_at += 1
            j += 1
    return order


def remove(value: Any, fields: FieldSet, node: Node) -> Any:
    """``value`` without the fields of a set; None where nothing is left of a map or list."""
    form = shape(value, node)
    if form == SCALAR:
        return value
    if form == LIST:
        if not isinstance(value, list) or not value or not node.associative:
            return None
        return _remove_items(value, fields, node) or None
    if not isinstance(value, dict) or not value or node.atomic_map:
        return None
    kept: dict[str, Any] = {}
    for key, item in value.items():
        below = fields.get(f"f:{key}")
        if below is None:
            kept[key] = item
        elif not field_set.is_member(below):
            kept[key] = remove(item, below, child_of(node, key) or UNTYPED)
    return kept or None


def _remove_items(value: list[Any], fields: FieldSet, node: Node) -> list[Any]:
    kept = []
    for element, item in zip(elements_of(value, node), value, strict=True):
        below = fields.get(element)
        if below is None:
            kept.append(item)
        elif not field_set.is_member(below):
            kept.append(remove(item, below, node.element or UNTYPED))
    return kept


def with_named_fields(fields: FieldSet, node: Node | None) -> FieldSet:
    """The set with every declared field that leads further down made a member too."""
    result: FieldSet = {}
    for element, below in fields.items():
        if element == "." or not below:
            result[element] = below
            continue
        declared, child = False, None
        if node is not None and element.startswith("f:"):
            declared = element[2:] in node.fields
            child = child_of(node, element[2:])
        elif node is not None and element.startswith("k:"):
            child = node.element
        inner = with_named_fields({key: item for key, item in below.items() if key != "."}, child)
        result[element] = field_set.node(inner, declared or field_set.is_member(below)) or field_set.MEMBER
    return result

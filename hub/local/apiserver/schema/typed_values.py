"""Values walked along their schema for field ownership: structured-merge-diff's typed values.

``fields_of`` says which fields a value names, ``merge`` lays an applied value over a live one, ``compare`` says what
changed between two, ``remove`` takes fields out. Values are never changed; results share what stayed.
"""

from typing import Any, Final

import msgspec

from hub.local.apiserver.schema import field_set
from hub.local.apiserver.schema.field_set import FieldSet
from hub.local.apiserver.schema.node import MISSING, UNTYPED, Node

MAP: Final = "map"
LIST: Final = "list"
SCALAR: Final = "scalar"
Path = tuple[str, ...]


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
    return f'v:"{item}"' if type(item) is str and item.isalnum() else "v:" + msgspec.json.encode(item).decode()


def _keyed_element(item: Any, node: Node) -> str:
    if item is None:
        raise TypeMismatch("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise TypeMismatch("associative list with keys may not have non-map elements")
    keys = node.list_keys
    if len(keys) == 1:
        value = item.get(keys[0], MISSING)
        if type(value) is str and value.isalnum():
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
    if left is not MISSING and right is not MISSING:
        if type(left) is type(right) and left == right and node.type:
            return
        left_form, right_form = shape(left, node), shape(right, node)
        if left_form != right_form and left is not None and right is not None:
            _compare_as(left_form, left, right, node, path, result)
        form = right_form
    else:
        form = shape(right if left is MISSING else left, node)
    _compare_as(form, left, right, node, path, result)


def _compare_as(form: str, left: Any, right: Any, node: Node, path: Path, result: Comparison) -> None:
    if form == MAP:
        old = left if isinstance(left, dict) else {}
        new = right if isinstance(right, dict) else {}
        if node.atomic_map or not (old or new):
            _leaf(left, right, path, result)
            return
        _compare_maps(old, new, node, path, result)
    elif form == LIST:
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
    before, after = _by_element(old, node), _by_element(new, node)
    child = node.element or UNTYPED
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


def _by_element(items: list[Any], node: Node) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for element, item in zip(elements_of(items, node), items, strict=True):
        result.setdefault(element, []).append(item)
    return result


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


def check(value: Any, node: Node, path: str = "", *, duplicates: bool = False) -> None:
    """Raise TypeMismatch for the first thing in ``value`` that its schema does not allow, ``.path: what``.

    ``duplicates`` lets lists of type set and map hold an item twice.
    """
    if value is None:
        return
    form = shape(value, node)
    if form == MAP:
        if not isinstance(value, dict):
            raise TypeMismatch(f"{path}: expected map, got &{{{_go_text(value)}}}")
        for key, item in value.items():
            child = child_of(node, key)
            if child is None:
                raise TypeMismatch(f"{path}.{key}: field not declared in schema")
            check(item, child, f"{path}.{key}", duplicates=duplicates)
    elif form == LIST:
        _check_list(value, node, path, duplicates)
    else:
        _check_scalar(value, node, path)


def _check_list(value: Any, node: Node, path: str, duplicates: bool) -> None:
    if not isinstance(value, list):
        raise TypeMismatch(f"{path}: expected list, got &{{{_go_text(value)}}}")
    child = node.element or UNTYPED
    if not node.associative:
        for index, item in enumerate(value):
            check(item, child, f"{path}[{index}]", duplicates=duplicates)
        return
    try:
        elements = elements_of(value, node)
    except TypeMismatch as problem:
        raise TypeMismatch(f"{path}: {problem}") from None
    seen = set()
    for element, item in zip(elements, value, strict=True):
        if element in seen and not duplicates:
            raise TypeMismatch(f"{path}: duplicate entries for key {field_set.text((element,))}")
        seen.add(element)
        check(item, child, path + field_set.text((element,)), duplicates=duplicates)


def _check_scalar(value: Any, node: Node, path: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if node.type in {"integer", "number"}:
        if not number:
            raise TypeMismatch(f"{path}: expected numeric (int or float), got {_go_type(value)}")
    elif node.type == "boolean":
        if not isinstance(value, bool):
            raise TypeMismatch(f"{path}: expected boolean, got &{{{_go_text(value)}}}")
    elif node.type == "string" and node.raw.get("format", "byte") == "byte":
        if not isinstance(value, str):
            raise TypeMismatch(f"{path}: expected string, got &value.valueUnstructured{{Value:{_go_text(value)}}}")
    elif isinstance(value, (dict, list)):
        raise TypeMismatch(f"{path}: expected any scalar, got &{{{_go_text(value)}}}")


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", int: "int64", float: "float64", dict: "map[string]interface {}"}
    return names.get(type(value), "[]interface {}")


def _go_text(value: Any) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_go_text(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)

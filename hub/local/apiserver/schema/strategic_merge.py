"""Strategic merge patch: lists merged by key as the schema of a built-in type says, with its directives.

``$patch: delete|replace``, ``$retainKeys``, ``$setElementOrder/<list>`` and ``$deleteFromPrimitiveList/<list>`` work
as in k8s.io/apimachinery's strategicpatch. Documents are never changed; the result shares what stayed.
"""

from collections.abc import Sequence
from typing import Any, Final

from hub.local.apiserver.schema import patch_error
from hub.local.apiserver.schema.node import Node

PATCH: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
SET_ORDER: Final = "$setElementOrder/"
DELETE_FROM: Final = "$deleteFromPrimitiveList/"

Map = dict[str, Any]


def merge(original: Map, patch: Map, node: Node | None) -> Map:
    """``original`` with ``patch`` merged in, along the node of its type. Raises PatchError for a malformed patch."""
    if PATCH in patch:
        return _directed(patch)
    kept = _retained(original, patch)
    result = dict(kept)
    remaining = {key: value for key, value in patch.items() if key != RETAIN_KEYS and not key.startswith(SET_ORDER)}
    for key, order in patch.items():
        if key.startswith(SET_ORDER):
            _merge_ordered(result, remaining, key.removeprefix(SET_ORDER), order, node)
    for key, value in remaining.items():
        deletes = key.startswith(DELETE_FROM)
        _merge_field(result, key.removeprefix(DELETE_FROM), value, node, deletes)
    return result


def _directed(patch: Map) -> Map:
    directive = patch[PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != PATCH}
    if directive == "delete":
        return {}
    raise patch_error.bad_request(f"unknown patch type: {directive} in map: {_go_map(patch)}")


def _retained(original: Map, patch: Map) -> Map:
    if RETAIN_KEYS not in patch:
        return original
    keys = patch[RETAIN_KEYS]
    if not isinstance(keys, list):
        raise patch_error.bad_request("invalid patch format of retainKeys")
    for key, value in patch.items():
        named = key == RETAIN_KEYS or value is None or key.startswith((DELETE_FROM, SET_ORDER))
        if not named and key not in keys:
            raise patch_error.bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _merge_field(result: Map, key: str, value: Any, node: Node | None, deletes: bool) -> None:
    if value is None:
        result.pop(key, None)
        return
    before = result.get(key)
    child = node.child(key) if node is not None else None
    if isinstance(before, dict) and isinstance(value, dict):
        replaces = child is not None and "replace" in child.patch_strategy
        result[key] = value if replaces else merge(before, value, child)
    elif isinstance(before, list) and isinstance(value, list):
        merges = child is not None and "merge" in child.patch_strategy
        result[key] = _merge_list(before, value, child, deletes) if merges or deletes else value
    elif not deletes:
        cleaned = _without_directives(_without_nulls(value))
        if cleaned is _NOTHING:
            result.pop(key, None)
        else:
            result[key] = cleaned


_NOTHING: Final[Any] = object()


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        if PATCH in value:
            return _NOTHING
        cleaned = {key: _without_directives(item) for key, item in value.items()}
        return {key: item for key, item in cleaned.items() if item is not _NOTHING}
    if isinstance(value, list):
        items = [_without_directives(item) for item in value]
        return [item for item in items if item is not _NOTHING]
    return value


def _merge_list(original: list[Any], patch: list[Any], node: Node | None, deletes: bool) -> list[Any]:
    if not original and not patch:
        return original
    maps = _are_maps([*original, *patch])
    if not maps:
        if deletes:
            return [item for item in original if item not in patch]
        merged = list(dict.fromkeys([*original, *patch]))
        return _in_order(merged, patch, original, "")
    key = node.merge_key if node is not None else ""
    if not key:
        raise patch_error.bad_request("cannot merge lists without merge key")
    base, additions = _apply_item_directives(original, patch, key)
    merged = list(base)
    for item in additions:
        value = _key_of(item, key)
        index = _find(merged, key, value)
        if index < 0:
            merged.append(item)
        else:
            merged[index] = merge(merged[index], item, node.element if node is not None else None)
    return _in_order(merged, additions, base, key)


def _are_maps(items: Sequence[Any]) -> bool:
    kinds = {type(item) for item in items}
    if list in kinds:
        raise patch_error.unprocessable("lists of lists are not supported")
    if dict in kinds and len(kinds) > 1:
        raise patch_error.bad_request("list element types are not identical")
    return dict in kinds


def _apply_item_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    plain: list[Any] = []
    replaces = False
    for item in patch:
        directive = item.get(PATCH)
        if directive is None:
            plain.append(item)
        elif directive == "delete":
            value = _key_of(item, key)
            original = [other for other in original if other.get(key) != value]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise patch_error.bad_request("merging lists cannot yet be specified in the patch")
        else:
            raise patch_error.bad_request(f"unknown patch type: {directive} in map: {_go_map(item)}")
    return (plain, []) if replaces else (original, plain)


def _key_of(item: Map, key: str) -> Any:
    if key not in item:
        raise patch_error.PatchError(500, f"map: {_go_map(item)} does not contain declared merge key: {key}")
    return item[key]


def _find(items: Sequence[Any], key: str, value: Any) -> int:
    for index, item in enumerate(items):
        other = item.get(key) if key else item
        if other == value:
            return index
    return -1


def _in_order(merged: list[Any], patch: list[Any], original: list[Any], key: str) -> list[Any]:
    """Patched items in the order of the patch, the others where they stood among them."""

    def rank(order: list[Any], item: Any) -> int:
        return _find(order, key, _key_of(item, key) if key else item)

    patched = sorted((item for item in merged if rank(patch, item) >= 0), key=lambda item: rank(patch, item))
    others = sorted((item for item in merged if rank(patch, item) < 0), key=lambda item: rank(original, item))
    result: list[Any] = []
    while patched and others:
        left, right = rank(original, others[0]), rank(original, patched[0])
        result.append((others if 0 <= left < right else patched).pop(0))
    return [*result, *patched, *others]


def _merge_ordered(result: Map, patch: Map, key: str, order: Any, node: Node | None) -> None:
    """Merge one list that comes with ``$setElementOrder`` and put it in that order; takes it out of ``patch``."""
    if not isinstance(order, list):
        raise patch_error.bad_request("invalid patch format of setElementOrder list")
    before, change = result.get(key), patch.pop(key, None)
    if before is None and change is None:
        return
    child = node.child(key) if node is not None else None
    merge_key = child.merge_key if child is not None else ""
    _check_order(change or [], order, merge_key)
    if change is None:
        merged = before or []
    elif before is None:
        merged = _without_directives(change)
    elif child is not None and "merge" in child.patch_strategy:
        merged = _merge_list(before, change, child, deletes=False)
    else:
        merged = change
    result[key] = _in_order(merged, order, _standing(before or [], change or [], merge_key), merge_key)


def _standing(before: list[Any], change: list[Any], key: str) -> list[Any]:
    """The order others are kept in: that of the live list, where new items take the places of deleted ones.

    The real server reuses the live list's memory for the merged one, so an item that comes where another one goes
    counts as having stood there. kubectl apply sends such patches whenever a container is renamed.
    """
    deleted = [item for item in change if isinstance(item, dict) and item.get(PATCH) == "delete"]
    if not deleted or any(isinstance(item, dict) and item.get(PATCH) == "replace" for item in change):
        return before
    gone = {item.get(key) for item in deleted}
    kept = [item for item in before if item.get(key) not in gone]
    known = {item.get(key) for item in kept}
    new = [item for item in change if PATCH not in item and item.get(key) not in known]
    return [*kept, *new][: len(before)]


def _check_order(change: list[Any], order: list[Any], key: str) -> None:
    if not order:
        return
    items = [item for item in change if not (isinstance(item, dict) and PATCH in item)]
    position = 0
    for wanted in order:
        if position < len(items) and _same_item(items[position], wanted, key):
            position += 1
    if position < len(items):
        words = (
            f"The order in patch list:\n{_go_list(change)}\n doesn't match $setElementOrder list:\n{_go_list(order)}\n"
        )
        raise patch_error.bad_request(words)


def _same_item(left: Any, right: Any, key: str) -> bool:
    return bool(_key_of(left, key) == _key_of(right, key)) if key else bool(left == right)


def _go_map(value: Map) -> str:
    return "map[" + " ".join(f"{key}:{_go_value(value[key])}" for key in sorted(value)) + "]"


def _go_list(values: list[Any]) -> str:
    return "[" + " ".join(_go_value(value) for value in values) + "]"


def _go_value(value: Any) -> str:
    if isinstance(value, dict):
        return _go_map(value)
    if isinstance(value, list):
        return _go_list(value)
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Unknown fields removed from an object, with their paths: the real server's structural pruning.

Paths read ``spec.a[0].b``, sorted, as the ``unknown field`` messages of field validation print them. The object given
is never changed.
"""

from collections.abc import Iterator
from typing import Any, Final

from hub.local.apiserver.schema.node import MISSING, NOTHING, Node

RESOURCE_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


def prune(value: dict[str, Any], root: Node, *, nulls: bool = True) -> tuple[dict[str, Any], list[str]]:
    """The object without the fields its schema does not declare, and their paths.

    Nulls that are neither allowed nor have a default disappear too, without a path, unless ``nulls`` is False.
    ``apiVersion``, ``kind`` and ``metadata`` are left alone at the root and in embedded resources.
    """
    unknown: list[str] = []
    if isinstance(value.get("metadata"), dict):
        value = _without_unknown_metadata(value, root, unknown)
    if nulls and not unknown and _is_clean(value, root, at_root=True):
        return value, []
    pruned = _prune(value, root, "", unknown, at_root=True)
    return without_nulls(pruned, root) if nulls else pruned, sorted(unknown)


def _is_clean(value: dict[str, Any], node: Node, *, at_root: bool = False) -> bool:
    """Whether every field of a map is declared and none is null, at any depth: most objects are like that."""
    fields, element = node.fields, node.element if node.type != "array" else None
    for key, item in value.items():
        child = fields.get(key) or element
        if child is None:
            if not node.preserve and not (at_root and key in RESOURCE_FIELDS):
                return False
        elif item is None:
            return False
        elif at_root and key == "metadata":
            continue
        elif not _is_clean_below(item, child):
            return False
    return True


def _is_clean_below(item: Any, child: Node) -> bool:
    kind = type(item)
    if kind is dict:
        return _is_clean(item, child)
    if kind is not list:
        return True
    element = child.element if child.type != "object" else None
    if element is None:
        return child.preserve
    return all(_is_clean_below(one, element) if one is not None else False for one in item)


def with_clean_metadata(document: dict[str, Any]) -> dict[str, Any]:
    """The object without empty fields in its metadata."""
    metadata = document.get("metadata") or {}
    if all(metadata.values()) or not any(item is None or item in ("", [], {}) for item in metadata.values()):
        return document
    kept = {key: item for key, item in metadata.items() if item is not None and item not in ("", [], {})}
    return {**document, "metadata": kept}


def _without_unknown_metadata(value: dict[str, Any], root: Node, unknown: list[str]) -> dict[str, Any]:
    """Metadata is a Go struct even in custom resources: unknown, null and empty fields do not survive decoding."""
    old = value["metadata"]
    node = root.fields.get("metadata")
    pruned = _prune(old, node, "metadata", unknown) if node is not None else old
    return with_clean_metadata(value if pruned is old else {**value, "metadata": pruned})


def _prune(value: Any, node: Node, path: str, unknown: list[str], *, at_root: bool = False) -> Any:
    if isinstance(value, dict):
        return _prune_map(value, node, path, unknown, at_root)
    if isinstance(value, list):
        element = node.element if node.type != "object" else None
        if element is None and node.preserve:
            return value
        element = element or NOTHING
        items = [_prune(item, element, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _prune_map(value: dict[str, Any], node: Node, path: str, unknown: list[str], at_root: bool) -> dict[str, Any]:
    keep_meta = at_root or node.embedded
    changed: dict[str, Any] = {}
    dropped: list[str] = []
    for key, old in value.items():
        if keep_meta and key in RESOURCE_FIELDS:
            continue
        child = node.fields.get(key) or (node.element if node.type != "array" else None)
        below = f"{path}.{key}" if path else key
        if child is not None:
            new = _prune(old, child, below, unknown) if isinstance(old, (dict, list)) else old
            if new is not old:
                changed[key] = new
        elif not node.preserve:
            dropped.append(key)
            unknown.append(below)
    if not changed and not dropped:
        return value
    return {key: changed.get(key, old) for key, old in value.items() if key not in dropped}


def without_nulls(value: Any, node: Node) -> Any:
    """The value without nulls that are neither allowed nor replaced by a default."""
    if isinstance(value, dict):
        changed = dict(_changed_children(value, node))
        if not changed:
            return value
        return {key: changed.get(key, old) for key, old in value.items() if changed.get(key) is not MISSING}
    if isinstance(value, list) and node.element is not None and node.type != "object":
        element = node.element
        items = [without_nulls(item, element) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _changed_children(value: dict[str, Any], node: Node) -> Iterator[tuple[str, Any]]:
    for key, old in value.items():
        child = node.child(key)
        if child is None:
            continue
        if old is None:
            if not child.nullable and child.default is MISSING:
                yield key, MISSING
        elif isinstance(old, (dict, list)):
            new = without_nulls(old, child)
            if new is not old:
                yield key, new

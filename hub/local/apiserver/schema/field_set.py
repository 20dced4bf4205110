"""Sets of fields as managedFields writes them (``fieldsV1``), worked on without decoding.

A set is a tree of maps. A key is a path element: ``f:name`` (a field), ``k:{"type":"x"}`` (an item of a keyed list),
``v:"x"`` (an item of a set), ``i:0`` (an index). A sub-tree is a member of the set when it is empty or holds ``"."``;
its other keys lead further down. The empty root is the empty set. Sets are never changed once built: operations share
what they keep.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

FieldSet = dict[str, Any]
EMPTY: Final[FieldSet] = {}
MEMBER: Final[FieldSet] = {}
RANKS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


def is_member(tree: FieldSet) -> bool:
    return not tree or "." in tree


def node(children: FieldSet, member: bool) -> FieldSet | None:
    """The sub-tree with these children; None when nothing of it is in the set."""
    if not children:
        return MEMBER if member else None
    if member:
        return {".": MEMBER, **children}
    return children


def insert(tree: FieldSet, path: tuple[str, ...]) -> None:
    """Put one path into a tree that is still being built."""
    here = tree
    last = len(path) - 1
    for position, element in enumerate(path):
        below = here.get(element)
        if below is None:
            if position == last:
                here[element] = {}
                return
            below = here[element] = {}
            here = below
        elif position == last:
            if below and "." not in below:
                below["."] = {}
            return
        else:
            if not below:
                below["."] = {}
            here = below


def insert_below(tree: FieldSet, path: tuple[str, ...], below: FieldSet) -> None:
    """Put a member and what lies below it into a tree that is still being built and has nothing there yet."""
    here = tree
    for element in path[:-1]:
        inner = here.get(element)
        if inner is None:
            inner = here[element] = {}
        elif not inner:
            inner["."] = {}
        here = inner
    here[path[-1]] = below


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or not right:
        return left or right
    result = dict(left)
    for element, below in right.items():
        mine = result.get(element)
        result[element] = below if mine is None else _union_below(mine, below)
    return result


def _union_below(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or left == right:
        return left
    member = is_member(left) or is_member(right)
    merged = union(_children(left), _children(right))
    return node(merged, member) or MEMBER


def _children(tree: FieldSet) -> FieldSet:
    if "." not in tree:
        return tree
    return {element: below for element, below in tree.items() if element != "."}


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None or element == ".":
            continue
        both = node(intersection(below, other), is_member(below) and is_member(other))
        if both is not None:
            result[element] = both
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in ``left`` and not in ``right``, path by path: a removed field keeps its own sub-fields."""
    if not right:
        return left
    result: FieldSet = {}
    for element, below in left.items():
        if element == ".":
            continue
        other = right.get(element)
        if other is None:
            result[element] = below
            continue
        if below == other:
            continue
        rest = node(difference(_children(below), _children(other)), is_member(below) and not is_member(other))
        if rest is not None:
            result[element] = rest
    return result


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """``left`` without the paths of ``right`` and all that lies below them."""
    if not right:
        return left
    result: FieldSet = {}
    for element, below in left.items():
        if element == ".":
            continue
        other = right.get(element)
        if other is None:
            result[element] = below
        elif not is_member(other):
            rest = node(without(_children(below), other), is_member(below))
            if rest is not None:
                result[element] = rest
    return result


def paths(tree: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every member, in the order the real server lists them: of each level first its members, then what lies below."""
    elements = sorted((key for key in tree if key != "."), key=_order)
    for element in elements:
        if is_member(tree[element]):
            yield (*prefix, element)
    for element in elements:
        yield from paths(tree[element], (*prefix, element))


def in_order(tree: FieldSet) -> FieldSet:
    """The same set with its keys in the order the real server writes them."""
    if len(tree) < 2:
        return {element: in_order(below) if below else below for element, below in tree.items() if element != "."}
    elements = sorted(tree)
    result: FieldSet = {}
    if elements[0] == ".":  # it comes before every letter
        del elements[0]
        result["."] = MEMBER
    if elements[0][0] != elements[-1][0]:
        elements.sort(key=_order)
    for element in elements:
        below = tree[element]
        result[element] = in_order(below) if below else below
    return result


def _order(element: str) -> tuple[int, str]:
    return RANKS.get(element[:1], 4), element


def text(path: tuple[str, ...]) -> str:
    """A path as conflict messages print it: ``.spec.containers[name="a"].image``."""
    return "".join(_element_text(element) for element in path)


def _element_text(element: str) -> str:
    kind, value = element[:1], element[2:]
    if kind == "f":
        return f".{value}"
    if kind == "k":
        keys = msgspec.json.decode(value)
        return "[" + ",".join(f"{name}={_value_text(keys[name])}" for name in sorted(keys)) + "]"
    if kind == "v":
        return f"[={_value_text(msgspec.json.decode(value))}]"
    return f"[{value}]"


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return msgspec.json.encode(value).decode()

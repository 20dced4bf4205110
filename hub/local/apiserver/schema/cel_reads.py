"""Which parts of ``self`` and ``oldSelf`` the texts of a rule name, and a value with no more than these parts.

Converting a whole Workload for CEL costs more than all its rules; and what a rule is not handed cannot change what it
says.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

CHAINS: Final = re.compile(r"(?<![\w.])(self|oldSelf)\b((?:\s*\.\s*[A-Za-z_]\w*)*)(\s*\()?")
HAS: Final = re.compile(r"\bhas\(\s*\Z")
SIZE: Final = re.compile(r"\bsize\(\s*\Z")
PRESENCE: Final = ""
LENGTH: Final = "#"
ELEMENTS: Final = "[]"
MARKERS: Final = frozenset({PRESENCE, LENGTH})
OF_ELEMENTS: Final = MARKERS | {ELEMENTS}
OF_VALUES: Final = frozenset({LENGTH, ELEMENTS})
ELEMENT_MACROS: Final = frozenset({"all", "exists", "exists_one"})
ELEMENT_NAME: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*,(?!\s*[A-Za-z_]\w*\s*,)")
Tree = dict[str, Any]
"""Names to sub-trees; an empty tree stands for the whole value, one of only PRESENCE for a value that is there, one
with LENGTH and no name for its length; what ELEMENTS holds is seen of each element of a list."""


def reads(variable: str, texts: list[str]) -> Tree | None:
    """Which parts of a variable the texts name; None when some text uses it whole.

    A part only asked for by ``has()`` or ``size()`` need not be handed over whole: its presence or length is enough.
    Neither need a list of which ``exists()`` or ``all()`` look at a few fields of each element.
    """
    tree: Tree = {}
    asked: list[tuple[list[str], Tree]] = []
    for text in texts:
        for match in CHAINS.finditer(text):
            if match[1] != variable:
                continue
            parts = [part.strip() for part in match[2].split(".") if part.strip()]
            method = parts.pop() if match[3] and parts else ""
            if not parts:
                return None
            leaf = _elements(text, match.end()) if method in ELEMENT_MACROS else _marker(text, match, method)
            if leaf:
                asked.append((parts, leaf))
            else:
                _grow(tree, parts, {})
    for parts, leaf in asked:
        _grow(tree, parts, leaf)
    return tree


def _elements(text: str, opened: int) -> Tree:
    """What a macro whose parenthesis was ``opened`` there reads of each element; empty where that is all of it."""
    name = ELEMENT_NAME.match(text, opened)
    if name is None:
        return {}
    fields: Tree = {}
    body = text[name.end() : _closed(text, opened)]
    for use in re.finditer(rf"(?<![\w.]){name[1]}\b((?:\s*\.\s*[A-Za-z_]\w*)*)(\s*\()?", body):
        parts = [part.strip() for part in use[1].split(".") if part.strip()]
        if use[2] and parts:
            parts.pop()
        if not parts:
            return {}
        fields[parts[0]] = {}
    return {ELEMENTS: fields} if fields else {}


def _closed(text: str, opened: int) -> int:
    """Where the parenthesis ends that was opened just before; texts in quotes are blank by now."""
    depth = 1
    for position in range(opened, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


def _marker(text: str, match: re.Match[str], method: str) -> Tree:
    """What is enough to know of a chain that stands alone in ``has()`` or ``size()``; empty where it is used itself."""
    if method:
        return {LENGTH: {}} if method == "size" and text[match.end() : match.end() + 1] == ")" else {}
    if text[match.end() : match.end() + 1] != ")":
        return {}
    if HAS.search(text, 0, match.start()):
        return {PRESENCE: {}}
    return {LENGTH: {}} if SIZE.search(text, 0, match.start()) else {}


def _grow(tree: Tree, parts: list[str], leaf: Tree) -> None:
    here = tree
    for index, part in enumerate(parts):
        if part in here and not here[part]:
            return
        if index == len(parts) - 1:
            if leaf:
                here[part] = _both(here.get(part, {}), leaf)
            else:
                here[part] = leaf
        else:
            here = here.setdefault(part, {PRESENCE: {}})


def united(trees: Iterable[Tree | None]) -> Tree | None:
    result: Tree = {}
    for tree in trees:
        if tree is None:
            return None
        result = _both(result, tree)
    return result


def _both(left: Tree, right: Tree) -> Tree:
    merged = dict(left)
    for name, below in right.items():
        mine = merged.get(name)
        merged[name] = below if mine is None else ({} if not mine or not below else _both(mine, below))
    return merged


def projected(value: Any, tree: Tree) -> Any:
    if not tree:
        return value
    if tree.keys() <= MARKERS:
        return _sized(value) if LENGTH in tree else True
    if ELEMENTS in tree:
        listed = isinstance(value, list) and tree.keys() <= OF_ELEMENTS
        return [projected(item, tree[ELEMENTS]) for item in value] if listed else value
    if not isinstance(value, dict) or LENGTH in tree:
        return value
    return {key: projected(value[key], below) for key, below in tree.items() if key in value}


def differ(new: Any, old: Any, tree: Tree) -> bool:
    """Whether the parts named differ; what is shared is not looked at, and little is made to find out."""
    if new is old:
        return False
    if not tree or not isinstance(new, dict) or not isinstance(old, dict) or not tree.keys().isdisjoint(OF_VALUES):
        return bool(projected(new, tree) != projected(old, tree))
    for key, below in tree.items():
        if key in new:
            if key not in old or differ(new[key], old[key], below):
                return True
        elif key in old:
            return True
    return False


def _sized(value: Any) -> Any:
    """Something of the same length."""
    if isinstance(value, list):
        return [0] * len(value)
    return dict.fromkeys(value, 0) if isinstance(value, dict) else value

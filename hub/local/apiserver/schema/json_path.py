"""The JSONPath of printer columns and ``kubectl -o jsonpath`` that Kubernetes knows, without ranges and functions.

Names, quoted names, indices, slices, wildcards, recursive descent and filters ``[?(@.type=="Ready")]``.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final

Step = Callable[[Any], Iterable[Any]]
TOKEN: Final = re.compile(
    r"""\.\.(?P<descent>[\w$-]+|\*)?
    |\.?\[\?\((?P<filter>.*?)\)\]
    |\.?\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]
    |\.?\[(?P<index>-?\d+)\]
    |\.?\[(?P<slice>-?\d*:-?\d*(?::-?\d*)?)\]
    |\.?\[(?P<all>\*)\]
    |\.(?P<name>(?:\\.|[^.\[\]\\])+)
    |\.$""",
    re.VERBOSE,
)
FILTER: Final = re.compile(r"^\s*(?P<left>.+?)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>.+?)\s*)?$")


class JsonPathError(ValueError):
    """A path that cannot be read; the message names the rest that was not understood."""


@cache
def compile_path(path: str) -> Callable[[Any], list[Any]]:
    """A function that finds all values of ``path``, which may wear braces and a leading ``$``. Raises JsonPathError."""
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$").removeprefix("@")
    if text and not text.startswith((".", "[")):
        text = f".{text}"
    steps = list(_steps(text))

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [item for current in found for item in step(current)]
        return found

    return find


def _steps(text: str) -> Iterator[Step]:
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None or match.end() == position:
            raise JsonPathError(f"unrecognized part {text[position:]!r} in JSON path {text!r}")
        position = match.end()
        yield from _step(match)


def _step(match: re.Match[str]) -> Iterator[Step]:
    kind, text = match.lastgroup, match.group(match.lastgroup) if match.lastgroup else ""
    if match[0].startswith(".."):
        yield _descend
        if text:
            yield _wildcard if text == "*" else _name(text)
    elif kind == "filter":
        yield _filter(text)
    elif kind == "quoted":
        yield _name(re.sub(r"\\(.)", r"\1", text[1:-1]))
    elif kind == "index":
        yield _index(int(text))
    elif kind == "slice":
        yield _slice(text)
    elif kind == "all" or text == "*":
        yield _wildcard
    elif text:
        yield _name(re.sub(r"\\(.)", r"\1", text))


def _name(name: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        return (value[name],) if isinstance(value, dict) and name in value else ()

    return step


def _index(index: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        return (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ()

    return step


def _slice(text: str) -> Step:
    parts = slice(*(int(part) if part else None for part in text.split(":")))

    def step(value: Any) -> Iterable[Any]:
        return value[parts] if isinstance(value, list) else ()

    return step


def _wildcard(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _descend(value: Any) -> Iterator[Any]:
    yield value
    for child in _wildcard(value):
        if isinstance(child, (dict, list)):
            yield from _descend(child)


def _filter(text: str) -> Step:
    match = FILTER.match(text)
    if match is None:
        raise JsonPathError(f"unrecognized filter {text!r}")
    left = _operand(match["left"])
    if match["operator"] is None:
        return lambda value: [item for item in _wildcard(value) if left(item)]
    right, holds = _operand(match["right"]), OPERATORS[match["operator"]]

    def step(value: Any) -> Iterable[Any]:
        return [item for item in _wildcard(value) if _compares(left(item), right(item), holds)]

    return step


def _operand(text: str) -> Callable[[Any], list[Any]]:
    if text.startswith("@"):
        return compile_path(text)
    constant: Any = {"true": True, "false": False}.get(text)
    if constant is None:
        if text[:1] in {"'", '"'}:
            constant = re.sub(r"\\(.)", r"\1", text[1:-1])
        else:
            try:
                constant = float(text) if "." in text else int(text)
            except ValueError:
                raise JsonPathError(f"unrecognized value {text!r} in a filter") from None
    return lambda _item: [constant]


OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def _compares(left: list[Any], right: list[Any], holds: Callable[[Any, Any], bool]) -> bool:
    if len(left) != 1 or len(right) != 1:
        return False
    if isinstance(left[0], str) != isinstance(right[0], str):
        return False
    return holds(left[0], right[0])

"""KYAML, the strict form of YAML that kubectl prints: texts quoted, brackets written (Kubernetes KEP 5295)."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_OTHER_TYPES: Final = re.compile(r"(?i)(y|n|yes|no|on|off|true|false|null|nan|inf|_+)")
"""Words that some reader of YAML takes for no text."""


def text(document: dict[str, Any]) -> str:
    """The document with its keys in order, as one stream of YAML."""
    return "---\n" + "".join(_value(document, 0)) + "\n"


def _value(value: Any, depth: int) -> Iterator[str]:
    indent, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and value:
        yield "{\n"
        for key, inner in sorted(value.items()):
            yield f"{indent}{_key(key)}: "
            yield from _value(inner, depth + 1)
            yield ",\n"
        yield outer + "}"
    elif isinstance(value, list) and value and all(isinstance(each, dict | list) and each for each in value):
        yield "["
        for number, each in enumerate(value):
            yield ", " if number else ""
            yield from _value(each, depth)
        yield "]"
    elif isinstance(value, list) and value:
        yield "[\n"
        for each in value:
            yield indent
            yield from _value(each, depth + 1)
            yield ",\n"
        yield outer + "]"
    else:
        yield json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    plain = _PLAIN_KEY.fullmatch(key) and not _OTHER_TYPES.fullmatch(key)
    return key if plain else json.dumps(key, ensure_ascii=False)

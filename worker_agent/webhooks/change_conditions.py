"""Pieces of CEL by which the API server compares an object with what it was (``matchConditions``).

Without optional fields (``object.?status``), which servers before 1.30 refuse.
"""

from collections.abc import Iterable
from typing import Final

NEW: Final = "oldObject == null"


def differs(path: str) -> str:
    """Whether the field of the object is not as it was; its parent is there in both."""
    new, old = f"object.{path}", f"oldObject.{path}"
    return f"has({new}) != has({old}) || (has({new}) && {new} != {old})"


def any_of(alternatives: Iterable[str]) -> str:
    return " || ".join(f"({each})" for each in alternatives)

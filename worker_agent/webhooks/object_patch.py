"""The JSON patch (RFC 6902) from a document to the one that was made of it. Pure.

Defaulting shares with the original whatever it does not change, so what is the same object is passed over unseen: of
megabytes of user's text only the way to the changed fields is walked, however large or deep the rest is.
"""

from collections.abc import Iterator
from typing import Any

from worker_agent.api.document import Document


def operations(before: Document, after: Document) -> list[Document]:
    """Members of lists of equal length are compared one by one, other lists are replaced."""
    return list(_members(before, after, ""))


def _changes(before: Any, after: Any, path: str) -> Iterator[Document]:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changes(old, new, f"{path}/{index}")
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": path, "value": after}


def _members(before: Document, after: Document, path: str) -> Iterator[Document]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
    for name, new in after.items():
        place = f"{path}/{_escaped(name)}"
        if name not in before:
            yield {"op": "add", "path": place, "value": new}
        else:
            yield from _changes(before[name], new, place)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")

"""What the other version of an object said and this one cannot: kept in an annotation, as a JSON patch (RFC 6902).

The patch leads from what a rewrite back would give to what was there. It holds as long as it agrees with the object:
a field that was changed here since is not overruled by what was kept.
"""

from collections.abc import Iterator
from typing import Any, Final

import jsonpatch
import msgspec

from worker_agent.api.document import Document
from worker_agent.api.names import OTHER_VERSION_ANNOTATION
from worker_agent.api.versions.old_version import Rewrite

MOST_BYTES: Final = 32_768
"""Longer patches are not kept: all annotations of an object share 256 KiB, and must leave the user room."""
MOST_TRIES: Final = 64
"""How often at most operations are tried one by one: users can write the annotation too, and each try is a copy."""
_WRITTEN: Final = ("add", "remove", "replace")
"""What is ever kept. A ``copy`` into itself, repeated, would grow without bounds."""
_UNFIT: Final = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, AttributeError)

Operations = list[dict[str, Any]]


def taken(document: Document) -> tuple[Document, Operations]:
    """The object without its annotation, and what that holds: nothing where it is unreadable or longer than we keep."""
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    text = annotations.get(OTHER_VERSION_ANNOTATION)
    if text is None:
        return document, []
    others = {name: value for name, value in annotations.items() if name != OTHER_VERSION_ANNOTATION}
    metadata = {name: value for name, value in document["metadata"].items() if name != "annotations"}
    if others:
        metadata["annotations"] = others
    try:
        operations = msgspec.json.decode(text, type=Operations) if len(text) <= MOST_BYTES else []
    except msgspec.MsgspecError:
        operations = []
    return {**document, "metadata": metadata}, operations


def put_back(rewritten: Document, operations: Operations, before: Document, back: Rewrite) -> Document:
    """``rewritten`` with everything kept that still says what ``before`` says, which it was rewritten from."""
    left = operations
    whole = _patched(rewritten, left)
    if whole is not None and back(whole) == before:
        return whole
    tries = MOST_TRIES
    progress = True
    while progress:
        progress = False
        unfit: Operations = []
        for one in left[:tries]:
            candidate = _patched(rewritten, [one])
            if candidate is not None and back(candidate) == before:
                rewritten, progress = candidate, True
            else:
                unfit.append(one)
        tries -= len(left[:tries])
        left = unfit
    return rewritten


def with_difference(document: Document, back: Document, before: Document) -> Document:
    """``document`` with the annotation that leads from ``back`` to ``before``; as it is where they are equal."""
    if back == before:
        return document
    text = msgspec.json.encode(list(_difference(back, before))).decode()
    if len(text) > MOST_BYTES:
        return document
    metadata = document.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), OTHER_VERSION_ANNOTATION: text}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def _difference(back: Document, before: Document) -> Iterator[dict[str, Any]]:
    # Without its optimisation the library writes no move, so that each operation can be tried alone.
    yield from jsonpatch.JsonPatch.from_diff(back, before, optimization=False).patch


def _patched(document: Document, operations: Operations) -> Document | None:
    """A patched copy; None where the patch does not fit or would touch more than the fields of a version."""
    for one in operations:
        if one.get("op") not in _WRITTEN or str(one.get("path", "")).split("/")[1:2] not in (["spec"], ["status"]):
            return None
    try:
        patched = jsonpatch.JsonPatch(operations).apply(document)
    except _UNFIT:
        return None
    return patched if isinstance(patched, dict) else None

"""JSON patch (RFC 6902), applied by the library ``jsonpatch``, with the real server's limits and status codes."""

from typing import Any, Final

import jsonpatch

from hub.local.apiserver.schema import defaulting, patch_error
from worker_agent.api.document import Document

MOST_OPERATIONS: Final = 10_000


def apply(document: Document, operations: Any) -> Document:
    """The patched document; the one given stays as it is.

    Raises PatchError: 400 for something that is no list of operations, 413 for more than 10,000 of them, 422 for an
    operation that does not fit (a missing path, a failed test).
    """
    if not isinstance(operations, list):
        raise patch_error.bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if len(operations) > MOST_OPERATIONS:
        words = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        raise patch_error.PatchError(413, words)
    try:
        patched = jsonpatch.JsonPatch(operations).apply(defaulting.copied(document), in_place=True)
    except jsonpatch.JsonPatchTestFailed as problem:
        raise patch_error.unprocessable() from problem
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, KeyError, IndexError, TypeError) as problem:
        raise patch_error.unprocessable() from problem
    if not isinstance(patched, dict):
        raise patch_error.unprocessable()
    return patched

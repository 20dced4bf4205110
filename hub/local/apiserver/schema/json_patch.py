"""JSON patch (RFC 6902), applied by the library ``jsonpatch``, with the real server's limits and status codes."""

from types import MappingProxyType
from typing import Any, Final

import jsonpatch

from hub.local.apiserver.schema import defaulting, patch_error
from worker_agent.api.document import Document

MOST_OPERATIONS: Final = 10_000


class _Replace(jsonpatch.ReplaceOperation):
    """As the real server's library does it: ``replace`` of a field that an object does not have sets it."""

    def apply(self, obj: Any) -> Any:
        parent, name = self.pointer.to_last(obj)
        if isinstance(parent, dict) and name is not None and name not in parent:
            parent[name] = self.operation["value"]
            return obj
        return super().apply(obj)


class _Patch(jsonpatch.JsonPatch):
    operations = MappingProxyType({**jsonpatch.JsonPatch.operations, "replace": _Replace})


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
        patched = _Patch(operations).apply(defaulting.copied(document), in_place=True)
    except jsonpatch.JsonPatchTestFailed as problem:
        raise patch_error.unprocessable() from problem
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, KeyError, IndexError, TypeError) as problem:
        raise patch_error.unprocessable() from problem
    if not isinstance(patched, dict):
        raise patch_error.unprocessable()
    return patched

"""The finalizer that keeps an object while others use it."""

from worker_agent.api.document import Document, get
from worker_agent.api.names import IN_USE_FINALIZER


def with_in_use(document: Document) -> Document:
    """The document with the in-use finalizer; the same one if it has it already."""
    present = get(document, "metadata.finalizers") or []
    if IN_USE_FINALIZER in present:
        return document
    metadata = {**(document.get("metadata") or {}), "finalizers": [*present, IN_USE_FINALIZER]}
    return {**document, "metadata": metadata}

"""JSON documents: objects as they came, with every field their user wrote. Job kinds read and patch these."""

from typing import Any

Document = dict[str, Any]
"""One Kubernetes object as decoded JSON. Treat a document that was handed to you as frozen: copy before changing."""


def get(document: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path such as ``spec.template.metadata``; ``default`` where a part is absent or null."""
    for part in path.split("."):
        if not isinstance(document, dict):
            return default
        document = document.get(part)
    return default if document is None else document

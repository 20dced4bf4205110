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


Path = tuple[str | int, ...]
"""Steps into a document: field names and list indexes."""


def at(document: Any, path: Path, default: Any = None) -> Any:
    """The value at ``path``; ``default`` where any step is absent or null."""
    for step in path:
        if isinstance(step, int):
            present = isinstance(document, list) and step < len(document)
            document = document[step] if present else None
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return default if document is None else document


def put(document: Any, path: Path, value: Any) -> Any:
    """A copy of ``document`` with ``value`` at ``path``, making objects on the way; None removes the last step.

    Only what lies on the path is copied, the rest is shared with the original.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(document)
        items[step] = put(items[step], rest, value)
        return items
    fields = dict(document) if isinstance(document, dict) else {}
    below = put(fields.get(step), rest, value) if value is not None or rest else None
    if below is None:
        fields.pop(step, None)
    else:
        fields[step] = below
    return fields

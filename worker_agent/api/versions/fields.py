"""Small steps of a rewrite: one field under another name, one part of an object rewritten."""

from collections.abc import Callable
from typing import Any

from worker_agent.api.document import Document

Step = Callable[[Document], Document]


def within(document: Document, name: str, step: Step) -> Document:
    """The document with the object at ``name`` rewritten; as it is where there is none."""
    part = document.get(name)
    return {**document, name: step(part)} if isinstance(part, dict) else document


def each(document: Document, name: str, step: Step) -> Document:
    """The document with every object of the list at ``name`` rewritten; as it is where there is none."""
    items = document.get(name)
    if not isinstance(items, list):
        return document
    return {**document, name: [step(item) if isinstance(item, dict) else item for item in items]}


def without(document: Document, *names: str) -> Document:
    """The document without some fields."""
    return {name: value for name, value in document.items() if name not in names}


def renamed(document: Document, old: str, new: str) -> Document:
    """The field ``old`` under the name ``new``, over whatever is there; as it is where it is absent."""
    return {**without(document, old, new), new: document[old]} if old in document else document


def replaced(document: Document, name: str, values: dict[Any, Any]) -> Document:
    """The field with its value looked up; as it is where the value is not listed."""
    value = document.get(name)
    return {**document, name: values[value]} if isinstance(value, str) and value in values else document

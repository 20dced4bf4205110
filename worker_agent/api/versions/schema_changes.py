"""Steps from the schema of one version to that of another: fields that come or go, keywords that differ."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worker_agent.api.document import Document, Path, at, put


@dataclass(frozen=True, slots=True)
class Change:
    """At ``path`` (``spec.podSets[].template``, empty for the object itself): None takes a field or a keyword away."""

    path: str
    fields: Mapping[str, Document | None] = field(default_factory=dict)
    keywords: Mapping[str, Any] = field(default_factory=dict)


def changed(schema: Document, changes: Iterable[Change]) -> Document:
    """The schema with all changes. Raises KeyError where a path leads nowhere."""
    for change in changes:
        steps = _steps(change.path)
        place = at(schema, steps, schema if not steps else None)
        if place is None:
            raise KeyError(f"the schema has no {change.path}")
        schema = put(schema, steps, _with(place, change))
    return schema


def _with(place: Document, change: Change) -> Document:
    merged = {name: value for name, value in {**place, **change.keywords}.items() if value is not None}
    if change.fields:
        found = {**(place.get("properties") or {}), **change.fields}
        merged["properties"] = {name: found[name] for name in sorted(found) if found[name] is not None}
    return merged


def _steps(path: str) -> Path:
    steps: list[str | int] = []
    for part in path.split(".") if path else ():
        name = part.removesuffix("[]")
        steps += ["properties", name]
        if name != part:
            steps.append("items")
    return tuple(steps)

"""Amounts that a user wrote as fractions without quotes (``cpu: 0.5``), as Kubernetes' own types write them: ``500m``.

Schemas of custom kinds and of Workloads take integers and texts alone; Kueue's webhooks turn the others into texts.
"""

from typing import Final

from worker_agent.api import quantity
from worker_agent.api.document import Document, Path, at, put

_CONTAINERS: Final = ("initContainers", "containers")
_AMOUNTS: Final = ("requests", "limits")


def in_template(job: Document, template: Path) -> Document:
    """The job with the amounts of one of its pod templates written out; the same object when all of them are."""
    for field in _CONTAINERS:
        path = (*template, "spec", field)
        before = at(job, path)
        if isinstance(before, list):
            after = [in_container(each) for each in before]
            job = put(job, path, after) if any(a is not b for a, b in zip(after, before, strict=True)) else job
    return job


def in_container(container: Document) -> Document:
    """The container with its amounts written out; the same object when all of them are."""
    for field in _AMOUNTS:
        amounts = at(container, ("resources", field)) or {}
        fractions = {name: quantity.canonical(repr(it)) for name, it in amounts.items() if isinstance(it, float)}
        if fractions:
            container = put(container, ("resources", field), {**amounts, **fractions})
    return container

"""Objects beside a job that its pods follow from, joined to its document before anything is decided.

A joined document carries them under a name that no API object has, before and after every decision alike, so they never
become part of a write.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType

_JOINED: Final = "~companions"


class Companion(NamedTuple):
    """One object that a job refers to; the namespace is empty for cluster-wide kinds."""

    resource: ResourceType
    namespace: str
    name: str


Lookup = Callable[[Companion], Document | None]
"""The companion as the cluster has it now; None where there is none."""


def joined(job: Document, companions: Iterable[Companion], lookup: Lookup) -> Document:
    """The job with those of ``companions`` that exist; itself when it has none."""
    found = {each.resource.kind: lookup(each) for each in companions}
    present = {kind: document for kind, document in found.items() if document is not None}
    return {**job, _JOINED: present} if present else job


def of(job: Document, kind: str) -> Document | None:
    """The joined companion of this kind."""
    companion: Document | None = job.get(_JOINED, {}).get(kind)
    return companion


def replaced(job: Document, companion: Document) -> Document:
    """The job with this companion in place of the one of its kind."""
    return {**job, _JOINED: {**job.get(_JOINED, {}), companion["kind"]: companion}}

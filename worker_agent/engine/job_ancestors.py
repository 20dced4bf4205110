"""Who a job belongs to: the search for the top-most queued ancestor (spec/jobs section 3).

The objects come through ``lookup``, so the search is a function of what was loaded. A shell without all of them in
memory asks ``next_owner`` which object to load, step by step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker_agent.api import frameworks
from worker_agent.api.document import Document
from worker_agent.api.job_kind import queue_name
from worker_agent.api.job_policy import JobPolicy

MAX_DEPTH: Final = 10
TOO_DEEP: Final = f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {MAX_DEPTH}"

Lookup = Callable[[str, str, str, str], Document | None]
"""(apiVersion, kind, namespace, name) -> the object, or None where there is none."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """What the search found. ``managed`` is the top-most queued ancestor; ``error`` is non-empty when it failed."""

    managed: Document | None = None
    error: str = ""
    too_deep: bool = False


NO_ANCESTOR: Final = Ancestry()


def next_owner(document: Document, policy: JobPolicy) -> Document | None:
    """The controller reference the search follows from here; None where it ends."""
    owner = frameworks.controller_of(document)
    return owner if owner is not None and frameworks.is_known(frameworks.gvk_of(owner), policy) else None


def search(job: Document, lookup: Lookup, policy: JobPolicy) -> Ancestry:
    """The top-most ancestor whose kind is enabled and that has a queue name (or needs none: manage-all mode)."""
    managed: Document | None = None
    current, seen = job, set[str]()
    namespace = job["metadata"].get("namespace", "")
    while True:
        uid = current["metadata"].get("uid", "")
        if uid in seen:
            return Ancestry(error="cyclic ownership")
        seen.add(uid)
        owner = next_owner(current, policy)
        if owner is None:
            return Ancestry(managed)
        parent = lookup(owner["apiVersion"], owner["kind"], namespace, owner["name"])
        if parent is None:
            return Ancestry(error="workload owner not found")
        if parent["metadata"].get("uid", "") != owner.get("uid", ""):
            return Ancestry(managed)
        if _is_managed(parent, policy):
            managed = parent
        current = parent
        if len(seen) > MAX_DEPTH:
            return Ancestry(error=TOO_DEEP, too_deep=True)


def _is_managed(document: Document, policy: JobPolicy) -> bool:
    queued = policy.manage_without_queue_name or bool(queue_name(document))
    return queued and frameworks.is_manageable(frameworks.gvk_of(document), policy)

"""Where a workload of the manager runs, and which Workloads are a job's. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.frameworks import controller_of

MANAGER = ""
"""The cluster of workloads that run on the manager itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """``cluster`` is where its pods are, MANAGER for the manager itself, None while it runs nowhere.

    ``why`` then says what it waits for. ``finished`` is how it ended, empty while it has not.
    """

    cluster: str | None
    why: str = ""
    finished: str = ""


def of(workload: Document) -> Place:
    """From the status of the manager's Workload."""
    end = _condition(workload, names.FINISHED)
    finished = _told(end) if end.get("status") == "True" else ""
    cluster = at(workload, ("status", "clusterName"), "")
    if cluster:
        return Place(cluster, finished=finished)
    if finished:
        return Place(MANAGER, finished=finished)
    if _condition(workload, names.ADMITTED).get("status") == "True":
        return Place(MANAGER)
    return Place(None, _waits_for(workload))


def _waits_for(workload: Document) -> str:
    """In the words of the condition that comes next in a workload's life."""
    reserved = _condition(workload, names.QUOTA_RESERVED)
    if at(workload, ("spec", "active"), True) is False:
        return "it is not active"
    if reserved.get("status") != "True":
        told = _told(reserved)
        return f"it waits for quota on the manager{': ' if told else ''}{told}"
    dispatched = _condition(workload, names.DISPATCHED)
    if dispatched.get("status") != "True" and dispatched:
        return f"it is not dispatched to a cluster yet: {dispatched.get('reason')}: {dispatched.get('message')}"
    nominated = at(workload, ("status", "nominatedClusterNames"), []) or ()
    if nominated:
        return f"it waits for admission in {', '.join(nominated)}"
    pending = [check for check in at(workload, ("status", "admissionChecks"), []) or () if check["state"] != "Ready"]
    told = "; ".join(f"{check['name']}: {check.get('message') or check['state']}" for check in pending)
    return f"its admission checks are not ready{': ' if told else ''}{told}"


def _condition(workload: Document, type_: str) -> Document:
    conditions = at(workload, ("status", "conditions"), []) or ()
    return next((found for found in conditions if found["type"] == type_), {})


def _told(condition: Document) -> str:
    return str(condition.get("message") or condition.get("reason") or "")


def owned_by(workloads: Iterable[Document], kind: str, name: str) -> list[Document]:
    """The Workloads of a job. ``kind`` in any case, singular or plural."""
    return [each for each in workloads if any(_matches(kind, *owner) and owner[1] == name for owner in _owners(each))]


def owned_by_any(workloads: Iterable[Document], uids: Sequence[str]) -> list[Document]:
    """The Workloads of the objects with these UIDs."""
    wanted = set(uids)
    return [
        each
        for each in workloads
        if wanted & {owner.get("uid") for owner in each["metadata"].get("ownerReferences") or ()}
    ]


def current(workloads: Iterable[Document]) -> list[Document]:
    """Without what ended, if anything goes on: elastic jobs leave the Workloads of their former sizes behind."""
    found = sorted(workloads, key=lambda each: each["metadata"]["name"])
    going_on = [each for each in found if not of(each).finished]
    return going_on or found


def _owners(workload: Document) -> Iterable[tuple[str, str]]:
    """Kind and name of what a Workload was made for."""
    metadata = workload["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        yield owner.get("kind", ""), owner.get("name", "")
    annotations = metadata.get("annotations") or {}
    _, _, kind = annotations.get(names.JOB_OWNER_GVK_ANNOTATION, "").rpartition("Kind=")
    yield kind, annotations.get(names.JOB_OWNER_NAME_ANNOTATION, "")


def _matches(asked: str, kind: str, name: str) -> bool:
    wanted, found = asked.lower(), kind.lower()
    return bool(name) and wanted in (found, f"{found}s", f"{found}es")


def job_of(workload: Document) -> str:
    """``Kind/name`` of the job, for people."""
    owner = controller_of(workload) or next(iter(workload["metadata"].get("ownerReferences") or ()), None)
    return f"{owner['kind']}/{owner['name']}" if owner else f"Workload/{workload['metadata']['name']}"

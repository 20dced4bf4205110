"""Two-phase admission: which checks a Workload needs, and what their states lead to (spec/engine 16)."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from worker_agent.api import timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.engine.workload_status import StatusDraft


def required(cluster_queue: ClusterQueue, flavors: Iterable[str] | None) -> frozenset[str]:
    """Names of a Workload's checks: those of its assigned ``flavors``; before an assignment (None) those of all.

    A Workload that asks for nothing is assigned no flavor: it goes through the checks of all flavors like every other.
    """
    all_flavors = {flavor.name for group in cluster_queue.spec.resource_groups for flavor in group.flavors}
    strategy = cluster_queue.spec.admission_checks_strategy
    rules = (strategy.admission_checks if strategy else None) or ()
    names = set()
    for rule in rules:
        on_flavors = set(rule.on_flavors or all_flavors)
        wanted = not on_flavors.isdisjoint(flavors) if flavors else all_flavors <= on_flavors
        if wanted:
            names.add(rule.name)
    return frozenset(names)


def assigned_flavors(workload: Document) -> set[str] | None:
    """Flavors of the Workload's admission; None without one."""
    admission = (workload.get("status") or {}).get("admission")
    if not admission:
        return None
    return {
        flavor
        for assignment in admission.get("podSetAssignments") or ()
        for flavor in (assignment.get("flavors") or {}).values()
    }


def sync(draft: StatusDraft, wanted: frozenset[str]) -> bool:
    """List exactly the wanted checks, new ones Pending, sorted by name. True when the set of names differed."""
    present = {check["name"]: check for check in draft.status.get("admissionChecks") or ()}
    if wanted == present.keys():
        return False
    now = timestamps.rfc3339(draft.now)
    new = {"state": "Pending", "lastTransitionTime": now, "message": ""}
    return draft.put(admissionChecks=[present.get(name) or {"name": name, **new} for name in sorted(wanted)])


def in_state(workload: Document, state: str) -> list[Document]:
    """The Workload's checks in that state, sorted by name."""
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    return sorted((check for check in checks if check.get("state") == state), key=lambda check: str(check["name"]))


def describe(checks: list[Document], state: str) -> str:
    """``AdmissionChecks in Retry state: "a"; "b" (why)``."""
    noun = "AdmissionCheck" if len(checks) == 1 else "AdmissionChecks"
    parts = (f'"{c["name"]}" ({c["message"]})' if c.get("message") else f'"{c["name"]}"' for c in checks)
    return f"{noun} in {state} state: {'; '.join(parts)}"


def retry_time(workload: Document) -> datetime | None:
    """The latest time until which a check in Retry asks to wait; None when no check names a delay."""
    times = [
        timestamps.parse(check["lastTransitionTime"]) + timedelta(seconds=check["requeueAfterSeconds"])
        for check in in_state(workload, "Retry")
        if check.get("requeueAfterSeconds") is not None and check.get("lastTransitionTime")
    ]
    return max(times, default=None)

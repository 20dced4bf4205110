"""Which pods of a group count, which are too many, and which have been replaced (spec/jobs 9.10 "Group")."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from worker_agent.api import timestamps
from worker_agent.api.document import Document, at, get
from worker_agent.jobs import pod_facts, pod_group


@dataclass(frozen=True, slots=True)
class Sorted:
    """``kept`` are the group from here on; ``excess`` are deleted; ``replaced`` are let go of."""

    kept: list[Document] = field(default_factory=list)
    excess: list[Document] = field(default_factory=list)
    replaced: list[Document] = field(default_factory=list)


def by_roles(pods: Sequence[Document], workload: Document, now: datetime) -> Sorted:
    """The pods sorted by what the Workload has room for; pods of other roles are left alone."""
    result = Sorted()
    for pod_set in at(workload, ("spec", "podSets"), []):
        count = get(pod_set, "count", 1)
        of_role = [pod for pod in pods if pod_group.role(pod) == pod_set["name"]]
        active = [pod for pod in of_role if pod_group.is_runnable(pod)]
        inactive = [pod for pod in of_role if not pod_group.is_runnable(pod)]
        kept, excess = split_excess(active, count)
        place_holders = sorted(inactive, key=lambda pod: _holding(pod, now))
        room = max(0, count - len(kept))
        result.kept.extend([*kept, *place_holders[:room]])
        result.excess.extend(excess)
        result.replaced.extend(place_holders[room:])
    result.kept.sort(key=lambda pod: str(pod["metadata"]["name"]))
    return result


def split_excess(pods: Sequence[Document], count: int) -> tuple[list[Document], list[Document]]:
    """The ``count`` pods with the best right to stay, and the others: those we hold, those that run, the oldest."""
    ordered = sorted(pods, key=_right_to_stay)
    return ordered[:count], ordered[count:]


def _right_to_stay(pod: Document) -> tuple[bool, bool, str, str]:
    return (pod_facts.is_finalized(pod), pod_facts.is_gated(pod), _created(pod), str(pod["metadata"]["name"]))


def _holding(pod: Document, now: datetime) -> tuple[bool, float, str]:
    """Best place holder first: one we hold, most recently active, oldest."""
    return (pod_facts.is_finalized(pod), -_last_active(pod, now).timestamp(), _created(pod))


def _created(pod: Document) -> str:
    return str(at(pod, ("metadata", "creationTimestamp"), ""))


def _last_active(pod: Document, now: datetime) -> datetime:
    """The earlier of the pod's deletion and its failure; now for a pod that tells of neither."""
    times = [at(pod, ("metadata", "deletionTimestamp"))]
    for condition in get(pod, "status.conditions", []):
        if (condition.get("type"), condition.get("status"), condition.get("reason")) == (
            "ContainersReady",
            "False",
            "PodFailed",
        ):
            times.append(condition.get("lastTransitionTime"))
    return min((timestamps.parse(time) for time in times if time), default=now)

"""Story: what happened to each head of a cycle and why, told from the plan and the state after it.

Reading order: ``CycleTale`` is one cycle, ``HeadTale`` one workload's turn in it, ``Tried`` one flavor that was looked
at. ``story_script`` and ``story_recording`` bring the cycles, the command line prints them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import resources, story_shortage, story_trace
from worker_agent.engine.assignment import Assignment, Attempt, PodSetResult
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.nomination import Entry, Outcome
from worker_agent.engine.plan import Admit, Plan, Requeue, Step
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story_shortage import Shortage, Tale
from worker_agent.engine.tas import topology_assignment


class Tried(Tale, frozen=True):
    """A flavor that was looked at. ``borrows``: how many levels up the cohort tree it borrows."""

    flavor: str
    mode: str
    """Fit, Reclaim or Preempt (with victims), NoCandidates, NoFit."""
    borrows: int = 0
    problem: str = ""


class PodSetTale(Tale, frozen=True):
    """What one pod set asked for, tried and got."""

    name: str
    count: int
    wanted_count: int
    """In the spec; ``count`` is smaller where fewer pods were admitted."""
    requests: dict[str, str]
    flavors: dict[str, str] = {}
    places: dict[str, int] = {}
    """Pods by domain of the topology, such as ``rack-1/node-3``."""
    tried: tuple[Tried, ...] = ()


class VictimTale(Tale, frozen=True):
    workload: str
    cluster_queue: str
    reason: str


class HeadTale(Tale, frozen=True):
    """One workload's turn. ``turn`` counts from 1 in the order of processing; 0 where it was not nominated."""

    workload: str
    cluster_queue: str
    priority: int
    result: str
    """Admitted, Reserved (checks are outstanding), Preempting, Skipped, Waiting or Refused."""
    turn: int = 0
    reason: str = ""
    message: str = ""
    pod_sets: tuple[PodSetTale, ...] = ()
    victims: tuple[VictimTale, ...] = ()
    short: tuple[Shortage, ...] = ()
    """What is short now, after the cycle."""
    waits: str = ""
    """Where it waits now: active (tried again in the next cycle) or inadmissible (until something changes)."""


class CycleTale(Tale, frozen=True):
    """One cycle; ``heads`` in the order of processing, then those that were refused."""

    at: str
    cycle: int
    heads: tuple[HeadTale, ...] = ()
    queue: dict[str, list[str]] = {}
    """The active workloads of each ClusterQueue afterwards, first in line first."""
    inadmissible: dict[str, list[str]] = {}
    usage: dict[str, dict[str, dict[str, str]]] = {}
    """By ClusterQueue, flavor and resource."""
    differences: tuple[str, ...] = ()
    """From the recorded trace."""


MODES: Final = {
    PreemptionMode.NO_FIT: "NoFit",
    PreemptionMode.NO_CANDIDATES: "NoCandidates",
    PreemptionMode.PREEMPT: "Preempt",
    PreemptionMode.RECLAIM: "Reclaim",
    PreemptionMode.FIT: "Fit",
}


def tell(state: ClusterState, plan: Plan | None, now: int, differences: Sequence[str] = ()) -> CycleTale:
    """The tale of a cycle that has just run (``plan`` None: no queue had a head). ``now`` in microseconds."""
    queue, parked = story_trace.waiting(state)
    places = {key: turn for turn, key in enumerate(plan.attempts if plan else (), start=1)}
    steps = {step.key: step for step in plan or () if isinstance(step, Admit | Requeue)}
    entries = sorted(plan.entries if plan else (), key=lambda e: places.get(e.row.key, len(places) + 1))
    return CycleTale(
        at=timestamps.rfc3339(timestamps.from_micros(now)),
        cycle=plan.cycle if plan else 0,
        heads=tuple(_head(state, entry, steps.get(entry.row.key), places) for entry in entries),
        queue=queue,
        inadmissible=parked,
        usage=_texts(story_trace.usage(state.hierarchy.queues)),
        differences=tuple(differences),
    )


def tried(attempts: Sequence[Attempt]) -> tuple[Tried, ...]:
    return tuple(
        Tried(flavor=a.flavor, mode=MODES[a.mode.preemption], borrows=_level(a), problem=a.detail) for a in attempts
    )


def _level(attempt: Attempt) -> int:
    """Of a flavor that does not suit the pods no level was asked."""
    return 0 if attempt.mode.preemption is PreemptionMode.NO_FIT else attempt.mode.level


def _head(state: ClusterState, entry: Entry, step: Step | None, places: dict[Key, int]) -> HeadTale:
    row = entry.row
    refused = isinstance(step, Requeue)
    return HeadTale(
        workload=str(row.key),
        cluster_queue=entry.queue_name,
        priority=row.priority,
        result=_result(entry, step),
        turn=places.get(row.key, 0),
        reason=step.reason if step else entry.reason,
        message=step.message if step else entry.message,
        pod_sets=tuple(_pod_sets(entry, step)),
        victims=tuple(
            VictimTale(workload=str(t.row.key), cluster_queue=t.row.reserved_in, reason=t.reason) for t in entry.targets
        ),
        short=tuple(_shortages(state, entry)) if refused else (),
        waits=_where(state, row.key, entry.queue_name) if refused else "",
    )


def _result(entry: Entry, step: Step | None) -> str:
    if isinstance(step, Admit):
        return "Admitted" if step.admitted else "Reserved"
    if entry.outcome is Outcome.NOT_NOMINATED:
        return "Refused"
    if entry.outcome is Outcome.SKIPPED:
        return "Skipped"
    return "Preempting" if entry.targets else "Waiting"


def _places(step: Step | None) -> dict[str, dict[str, int]]:
    """By pod set, where an admission puts its pods."""
    if not isinstance(step, Admit):
        return {}
    found = {one["name"]: one.get("topologyAssignment") for one in step.admission["podSetAssignments"]}
    placed = {name: topology_assignment.decode(document) for name, document in found.items()}
    return {
        name: {"/".join(domain.values): domain.pods for domain in placement.domains}
        for name, placement in placed.items()
        if placement is not None
    }


def _pod_sets(entry: Entry, step: Step | None) -> Iterator[PodSetTale]:
    """Pod sets that the attempt reached; those behind a failing one were not looked at."""
    wanted = {pod_set.name: pod_set.count for pod_set in entry.row.workload.spec.pod_sets}
    places = _places(step)
    for result in entry.assignment.pod_sets if entry.assignment else ():
        yield PodSetTale(
            name=result.name,
            count=result.count,
            wanted_count=wanted.get(result.name, result.count),
            requests=resources.documents(result.requests),
            flavors={} if result.failed else {r: choice.flavor for r, choice in result.flavors.items()},
            places=places.get(result.name, {}),
            tried=tried(result.attempts),
        )


def _shortages(state: ClusterState, entry: Entry) -> Iterator[Shortage]:
    queue = entry.queue
    if queue is None or entry.assignment is None:
        return
    for fr, amount in _wanted(entry.assignment).items():
        if fr in queue.node.quotas:
            found = story_shortage.of(state, queue, fr, amount)
            if found.short:
                yield found


def _wanted(assignment: Assignment) -> dict[FlavorResource, int]:
    """Of every flavor that was looked at, what the pods would need of it."""
    wanted: dict[FlavorResource, int] = {}
    for pod_set in assignment.pod_sets:
        for flavor in _flavors(pod_set):
            for resource, amount in pod_set.requests.items():
                fr = (flavor, resource)
                wanted[fr] = resources.plus(wanted.get(fr, 0), amount)
    return wanted


def _flavors(pod_set: PodSetResult) -> list[str]:
    chosen = [choice.flavor for choice in pod_set.flavors.values()]
    return list(dict.fromkeys([attempt.flavor for attempt in pod_set.attempts] or chosen))


def _where(state: ClusterState, key: Key, queue: str) -> str:
    pending = state.pending.get(queue)
    if pending is None:
        return ""
    return "inadmissible" if key in pending.parked else "active"


def _texts(usage: Document) -> dict[str, dict[str, dict[str, str]]]:
    return {
        node: {
            flavor: {resource: resources.text(resource, amount) for resource, amount in amounts.items()}
            for flavor, amounts in flavors.items()
        }
        for node, flavors in usage.items()
    }

"""A Cohort that spans workers and has less than its tenants hold: who of those that wait for a cluster gives way.

What the workers leave to global work shrinks without anybody asking the manager: their own users come back, a worker is
cordoned or lost. The quota follows, but the manager's engine takes nothing from those who hold some already. Work that
was evicted on a worker may have reserved the room again before the quota followed; it would wait for ever on a worker
that has none, and the tenants whose turn it is would find nothing free.

So quota beyond what there is comes back from Workloads that hold it and run nowhere: of the tenant with the largest
share first, by the weights of the tree, and there the least important and newest first. They queue again at once, and
the engine decides who gets what is free. Running work is left alone: where it is too much, its worker evicts it.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Final

from hub.engine import cohort_span
from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.workload import AdmissionCheckState, Workload
from worker_agent.engine import fair_sharing, hierarchy, quota
from worker_agent.engine.hierarchy import Hierarchy
from worker_agent.engine.quota import CohortNode, QueueNode
from worker_agent.engine.resources import Amounts
from worker_agent.engine.trial import Journal

PATIENCE_SECONDS: Final = 10.0
"""For so long more may be held than there is: a worker that is out of contact for a moment, a copy that is just being
admitted, room that is given and taken in one breath cost nobody his place."""

_Node = CohortNode | QueueNode


@dataclass(frozen=True, slots=True)
class Waiting:
    """A Workload that holds quota and waits for a cluster. ``since``: when it got the quota, in seconds."""

    key: Key
    queue: str
    usage: Amounts
    priority: int = 0
    since: float = 0.0


def waits(workload: Workload, checks: Sequence[AdmissionCheckState]) -> bool:
    """Whether it holds quota and no cluster has it. ``checks``: its MultiKueue checks, the first of which counts."""
    if not workload.is_true(names.QUOTA_RESERVED) or workload.status.cluster_name or not checks:
        return False
    if any(map(workload.is_true, (names.ADMITTED, names.EVICTED, names.FINISHED))):
        return False
    return checks[0].state == names.CHECK_PENDING and workload.metadata.deletion_timestamp is None


def is_leaving(workload: Workload) -> bool:
    """Whether its quota comes back by itself, as soon as its pods are gone."""
    return workload.is_true(names.QUOTA_RESERVED) and workload.is_true(names.EVICTED)


def waiting(workload: Workload) -> Waiting:
    """One of those of whom ``waits`` is true."""
    admission, reserved = workload.status.admission, workload.condition(names.QUOTA_RESERVED)
    moment = reserved.last_transition_time if reserved is not None else None
    return Waiting(
        workload.metadata.key,
        admission.cluster_queue if admission is not None else "",
        cohort_span.held_by([workload]),
        workload.spec.priority or 0,
        moment.timestamp() if moment is not None else 0.0,
    )


def overdraft(node: CohortNode) -> Amounts:
    """What is held below the cohort beyond its own quota and what it can borrow."""
    over = {fr: min(used - node.subtree.get(fr, 0), -quota.available(node, fr)) for fr, used in node.usage.items()}
    return {fr: amount for fr, amount in over.items() if amount > 0}


def give_back(tree: Hierarchy, cohort: str, candidates: Iterable[Waiting]) -> list[Waiting]:
    """Who gives quota back, in that order, until no more is held than there is. ``tree`` is used up.

    What a tenant has as nominal quota is its own: only those who borrow give.
    """
    node, journal = tree.cohorts[cohort], Journal()
    left: dict[str, list[Waiting]] = {}
    for each in sorted(candidates, key=lambda each: (-each.priority, each.since, each.key)):
        left.setdefault(each.queue, []).append(each)
    given: list[Waiting] = []
    while over := overdraft(node):
        for name in list(left):
            # What is not over now will not be so later: whoever uses nothing else keeps his quota.
            while left[name] and over.keys().isdisjoint(left[name][-1].usage):
                left[name].pop()
            if not left[name]:
                del left[name]
        queue = _next(node, left.keys(), over)
        if queue is None:
            break
        given.append(left[queue.name].pop())
        quota.remove_all(queue, _held(queue, given[-1].usage), journal)
    return given


def without(tree: Hierarchy, leaving: Iterable[tuple[str, Amounts]]) -> None:
    """Takes what is about to come back out of the tree, by queue."""
    journal = Journal()
    for name, amounts in leaving:
        node = tree.queues.get(name)
        if node is not None:
            quota.remove_all(node, _held(node, amounts), journal)


def _held(node: QueueNode, amounts: Amounts) -> Amounts:
    """No more than the queue holds: a job that gave pods back holds less than it was admitted with."""
    return {fr: min(amount, node.usage.get(fr, 0)) for fr, amount in amounts.items()}


def _next(node: _Node, queues: Set[str], over: Amounts) -> QueueNode | None:
    """The queue among these whose turn it is: at each level the child with the largest share."""
    if isinstance(node, QueueNode):
        return node
    children: list[_Node] = [*node.child_cohorts.values(), *node.child_queues.values()]
    shares = [
        (fair_sharing.dominant_share(child), child)
        for child in children
        if any(queue.name in queues for queue in hierarchy.queues_below(child))
    ]
    borrowing = [
        (share.order, child.name, child) for share, child in shares if not over.keys().isdisjoint(share.borrowed)
    ]
    for *_, child in sorted(borrowing, key=lambda found: found[:2], reverse=True):
        found = _next(child, queues, over)
        if found is not None:
            return found
    return None

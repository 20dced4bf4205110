"""Global fair sharing: a Cohort of the manager that spans the workers of a MultiKueueConfig.

A worker is shared by global queues, fed by the manager, and by queues of its own users. What decides between them is
the worker's engine, by its quotas, weights and preemption rules, and it keeps the last word: local users keep their
nominal quota, which global work borrows only while it is idle, and what they borrow as far as that engine lets them.
What decides between the tenants of the manager is the manager's engine, by the weights in its cohort tree. For both to
hold at once that tree has to hold what the workers leave to global work *now*, not the sum of their nominal quotas:
where it held more, tenants would be admitted to room that local users have taken back, wait there with quota in their
hands, and the one whose work was evicted would lose what all should lose.

So a Cohort with the annotation ``fedhub.dev/spans: CONFIG`` gets as its own quota the *reach* of the global queues in
the workers of that MultiKueueConfig, less what its members are granted as nominal quota. The reach in one worker is
what global work holds there, plus what its queues could still take without anybody's leave, at least their nominal
quota where they may reclaim it. A local user who comes back is served by the worker, which evicts global work; the
cohort shrinks by as much, and the manager's fair sharing says who of the tenants gives way.

A worker that is cordoned or whose queue is stopped counts with what global work holds there; a worker out of contact,
or whose queues may not be read, with what the manager's own Workloads say that it runs. Quota of a worker's flavor
counts for the cohort's flavor of the same name, and for a cohort with one flavor everything does.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from worker_agent.api import names, quantity
from worker_agent.api.cluster_queue import ClusterQueue, ResourceGroup
from worker_agent.api.cohort import Cohort
from worker_agent.api.document import Document
from worker_agent.api.workload import Workload
from worker_agent.engine import cluster_queue, quota
from worker_agent.engine.hierarchy import Hierarchy
from worker_agent.engine.resources import Amounts, FlavorResource, flavor_resource
from worker_agent.engine.trial import Journal

NEVER: Final = "Never"
LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class WorkerQueues:
    """Of one worker: the queues that global work comes to, by name, and all queues and cohorts it shares quota with."""

    ours: Collection[str]
    queues: Sequence[ClusterQueue]
    cohorts: Sequence[Cohort]


@dataclass(frozen=True, slots=True)
class Members:
    """What lies below a cohort of the manager, at any depth."""

    queues: tuple[ClusterQueue, ...]
    cohorts: tuple[Cohort, ...]


def config_of(cohort: Cohort) -> str:
    """The MultiKueueConfig whose workers the cohort spans; empty for an ordinary cohort."""
    return cohort.metadata.annotation(names.SPANS_ANNOTATION)


def members(cohort: str, queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort]) -> Members:
    """Cohorts that only exist by being named have no quota and are left out. A cycle is gone through once."""
    below: dict[str, list[Cohort]] = {}
    for each in cohorts:
        below.setdefault(each.spec.parent_name, []).append(each)
    named, found, open_ = {cohort}, [], [cohort]
    while open_:
        for child in below.get(open_.pop(), ()):
            if child.metadata.name not in named:
                named.add(child.metadata.name)
                found.append(child)
                open_.append(child.metadata.name)
    return Members(tuple(queue for queue in queues if queue.spec.cohort_name in named), tuple(found))


def whole_tree(cohort: str, queues: Iterable[ClusterQueue], cohorts: Sequence[Cohort]) -> Members:
    """Everything in the tree that the cohort is a part of, itself included."""
    by_name = {each.metadata.name: each for each in cohorts}
    root, seen = cohort, {cohort}
    while root in by_name and by_name[root].spec.parent_name not in ("", *seen):
        root = by_name[root].spec.parent_name
        seen.add(root)
    below = members(root, queues, cohorts)
    return Members(below.queues, (*([by_name[root]] if root in by_name else ()), *below.cohorts))


def reach(worker: WorkerQueues, *, takes_work: bool = True) -> Amounts:
    """What global work holds and could hold in a worker in contact. ``takes_work``: not cordoned."""
    hierarchy, journal = tree(worker.queues, worker.cohorts, _told_usage), Journal()
    total: Counter[FlavorResource] = Counter()
    for queue in sorted(worker.queues, key=lambda each: each.metadata.name):
        if queue.metadata.name not in worker.ours:
            continue
        node, opened = hierarchy.queues[queue.metadata.name], takes_work and not _stopped(queue)
        for fr in node.quotas:
            held = node.usage.get(fr, 0)
            more = quota.exposed(node, fr) if opened else 0
            if opened and _reclaims(queue):
                more = max(more, node.nominal(fr) - held)
            total[fr] += held + more
            # The next queue of the same cohort finds that taken.
            quota.add_usage(node, fr, more, journal)
    return dict(total)


def held_by(workloads: Iterable[Workload]) -> Amounts:
    """What the manager's Workloads hold: all that is known of a worker out of contact that runs them."""
    total: Counter[FlavorResource] = Counter()
    for workload in workloads:
        admission = workload.status.admission
        for assignment in admission.pod_set_assignments if admission is not None else ():
            for resource, amount in (assignment.resource_usage or {}).items():
                flavor = (assignment.flavors or {}).get(resource, "")
                total[flavor_resource(flavor, resource)] += quantity.value(resource, amount)
    return dict(total)


def resource_groups(cohort: Cohort, found: Members, reaches: Iterable[Amounts]) -> list[Document] | None:
    """The cohort's resource groups with the quota it spans; None where it has that already.

    Limits of borrowing and lending stay.
    """
    total: Counter[FlavorResource] = Counter()
    for amounts in reaches:
        total.update(amounts)
    granted = _granted(found)
    groups = [_spanning(group, total, granted) for group in cohort.spec.resource_groups]
    return groups if cluster_queue.quotas(_typed(groups)) != cluster_queue.quotas(cohort.spec.resource_groups) else None


def _spanning(
    group: ResourceGroup, total: Mapping[FlavorResource, int], granted: Mapping[FlavorResource, int]
) -> Document:
    alone = len(group.flavors) == 1
    flavors = []
    for flavor in group.flavors:
        resources: list[Document] = []
        for resource in flavor.resources:
            fr = flavor_resource(flavor.name, resource.name)
            wanted = min(max(0, _amount(total, fr, alone) - granted.get(fr, 0)), LARGEST)
            own: Document = {"name": resource.name, "nominalQuota": quantity.format_value(resource.name, wanted)}
            limits = {"borrowingLimit": resource.borrowing_limit, "lendingLimit": resource.lending_limit}
            resources.append(own | {name: limit for name, limit in limits.items() if limit is not None})
        flavors.append({"name": flavor.name, "resources": resources})
    return {"coveredResources": list(group.covered_resources), "flavors": flavors}


def _typed(groups: list[Document]) -> list[ResourceGroup]:
    return msgspec.convert(groups, list[ResourceGroup])


def obstacle(cohort: Cohort, found: Members, config_of_queue: Callable[[ClusterQueue], str]) -> str:
    """Why the cohort cannot span its workers, for people; empty where nothing is in the way.

    ``config_of_queue`` gives the MultiKueueConfig by which a queue's work is sent out, empty without one.
    """
    config = config_of(cohort)
    if not cohort.spec.resource_groups:
        return "spec.resourceGroups must name the flavors and resources whose quota follows the workers (amounts 0)"
    others = [queue.metadata.name for queue in found.queues if config_of_queue(queue) != config]
    if others:
        return f'ClusterQueues not dispatched by MultiKueueConfig "{config}" may not be below it: {", ".join(others)}'
    nested = [each.metadata.name for each in found.cohorts if config_of(each)]
    if nested:
        return f"cohorts below it may not span workers themselves: {', '.join(nested)}"
    return ""


def tree(
    queues: Collection[ClusterQueue], cohorts: Iterable[Cohort], usage: Callable[[ClusterQueue], Amounts]
) -> Hierarchy:
    """The quota tree of these objects with what is held in each queue. A queue in a cycle stands alone."""
    hierarchy, journal = Hierarchy(), Journal()
    for cohort in cohorts:
        name, groups = cohort.metadata.name, cluster_queue.quotas(cohort.spec.resource_groups)
        hierarchy.put_cohort(name, cohort.spec.parent_name, groups)
        hierarchy.cohorts[name].weight = cluster_queue.weight(cohort.spec.fair_sharing)
    for queue in queues:
        name, groups = queue.metadata.name, cluster_queue.quotas(queue.spec.resource_groups)
        if not hierarchy.put_queue(name, queue.spec.cohort_name, groups):
            hierarchy.put_queue(name, "", groups)
        hierarchy.queues[name].weight = cluster_queue.weight(queue.spec.fair_sharing)
    for queue in queues:
        quota.add_all(hierarchy.queues[queue.metadata.name], usage(queue), journal)
    return hierarchy


def _told_usage(queue: ClusterQueue) -> Amounts:
    """What the queue's status says is held."""
    return {
        flavor_resource(flavor.name, resource.name): amount
        for flavor in queue.status.flavors_reservation or ()
        for resource in flavor.resources
        if (amount := quantity.value(resource.name, resource.total))
    }


def _stopped(queue: ClusterQueue) -> bool:
    return (queue.spec.stop_policy or names.STOP_NONE) != names.STOP_NONE


def _reclaims(queue: ClusterQueue) -> bool:
    """Whether others who borrow of the queue's quota give it back when it asks."""
    preemption = queue.spec.preemption
    return preemption is not None and (preemption.reclaim_within_cohort or NEVER) != NEVER


def _granted(found: Members) -> Counter[FlavorResource]:
    """Nominal quota of everything below the cohort."""
    granted: Counter[FlavorResource] = Counter()
    of_queues = (group for queue in found.queues for group in queue.spec.resource_groups)
    of_cohorts = (group for cohort in found.cohorts for group in cohort.spec.resource_groups)
    for group in (*of_queues, *of_cohorts):
        for fr, own in cluster_queue.quotas([group]).items():
            granted[fr] += own.nominal
    return granted


def _amount(total: Mapping[FlavorResource, int], fr: FlavorResource, alone: bool) -> int:
    if not alone:
        return total.get(fr, 0)
    return sum(amount for (_, name), amount in total.items() if name == fr[1])

"""Whether the nodes of a cluster could ever hold a workload's pods: quota promises amounts, nodes have sizes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum

from hub.engine.views import WorkerView
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.selectors import SelectorError
from worker_agent.engine import pod_requests
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.resources import Requests
from worker_agent.engine.workload_info import PodSetRow, WorkloadRow


class Holding(IntEnum):
    """In which of the flavors that the worker may choose the nodes are large enough for every pod."""

    ALL = 0
    SOME = 1
    NONE = 2


def holding(view: WorkerView, queue: ClusterQueueRow, row: WorkloadRow, admission: Document | None) -> Holding:
    """For the flavors of ``admission``; without one for every flavor that the pods match, any of which it may be."""
    worst = Holding.ALL
    for pod_set, choices in _by_pod_set(view, queue, row, admission):
        pod = pod_requests.rounded(pod_set.shape.pod.effective())
        for choice in choices:
            worst = max(worst, _of_choice(view, pod, choice))
    return worst


def flavors(view: WorkerView, queue: ClusterQueueRow, row: WorkloadRow, admission: Document | None) -> set[str]:
    """The flavors that ``holding`` asks about."""
    found = _by_pod_set(view, queue, row, admission)
    return {flavor.name for _, choices in found for choice in choices for flavor in choice}


def makes_nodes(view: WorkerView, queue: ClusterQueueRow, assigned: Collection[str] | None = None) -> bool:
    """Nodes are made for what the queue admits (in the ``assigned`` flavors, or in any): those that are there now say
    nothing of what fits."""
    for name, guarded in queue.checks.items():
        check = view.state.catalog.checks.get(name)
        ours = check is not None and check.spec.controller_name == names.PROVISIONING_CONTROLLER
        if ours and (not assigned or not guarded.isdisjoint(assigned)):
            return True
    return False


def placed_by_topology(admission: Document) -> bool:
    """All pods have their places: the leaves of a topology were looked at one by one, with what is free on each."""
    assignments = value_at(admission, "podSetAssignments", [])
    return bool(assignments) and all(found.get("topologyAssignment") for found in assignments)


def asks_for_unknown_labels(view: WorkerView, row: WorkloadRow, assigned: Iterable[Mapping[str, str]]) -> bool:
    """Some pods name nodes by labels that only the worker sees; that a label is absent is seen by it alone too."""
    for pod_set, flavors in zip(row.pod_sets, assigned, strict=False):
        affinity = pod_set.shape.spec.affinity
        required = affinity and affinity.node_affinity
        terms = required and required.required_during_scheduling_ignored_during_execution
        for term in (terms.node_selector_terms if terms else None) or ():
            keys = [expression.key for expression in term.match_expressions or ()]
            if term.match_fields or not all(view.knows_labels(flavor, keys) for flavor in flavors.values()):
                return True
    return False


def _of_choice(view: WorkerView, pod: Requests, choice: list[FlavorRow]) -> Holding:
    held = [view.sizes.holds(pod, flavor.name) for flavor in choice]
    if all(held):
        return Holding.ALL
    return Holding.SOME if any(held) else Holding.NONE


def _by_pod_set(
    view: WorkerView, queue: ClusterQueueRow, row: WorkloadRow, admission: Document | None
) -> Iterator[tuple[PodSetRow, list[list[FlavorRow]]]]:
    """Of each list one flavor is given to the pod set: as granted, or as it may be."""
    granted = {str(found.get("name")): found for found in value_at(admission, "podSetAssignments", [])}
    for pod_set in row.pod_sets:
        if not pod_set.count:
            continue
        if admission is not None:
            assigned = set((granted.get(pod_set.name, {}).get("flavors") or {}).values())
            choices = [_rows(view, [name]) for name in assigned]
        else:
            choices = _choices(view, queue, pod_set)
        yield pod_set, _about_nodes(choices)


def _choices(view: WorkerView, queue: ClusterQueueRow, pod_set: PodSetRow) -> list[list[FlavorRow]]:
    """One list per resource group that the pods need: the flavors of which they would get one."""
    return [
        [flavor for flavor in _rows(view, group.flavors) if _matches(flavor, pod_set)]
        for group in queue.groups
        if any(pod_set.shape.requests.get(resource) for resource in group.resources)
    ]


def _rows(view: WorkerView, wanted: Iterable[str]) -> list[FlavorRow]:
    return [row for name in wanted if (row := view.state.catalog.flavors.get(name)) is not None]


def _about_nodes(choices: list[list[FlavorRow]]) -> list[list[FlavorRow]]:
    """A pod gets a flavor of each group at once; those that name no node labels (licences, credits) say nothing of
    nodes where others do."""
    return [choice for choice in choices if any(flavor.labels for flavor in choice)] or choices


def _matches(flavor: FlavorRow, pod_set: PodSetRow) -> bool:
    try:
        return not flavor.mismatch(pod_set.shape)
    except SelectorError:
        return False

"""ClusterQueueRow and LocalQueueRow: the objects as the engine uses them, with their tallies.

A row is made anew when the object's spec changes; what grows and shrinks with workloads (reservations, tallies, the
QuotaNode) is carried over, so nothing is counted again.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from worker_agent.api import names, quantity, selectors
from worker_agent.api.cluster_queue import BorrowWithinCohort, ClusterQueue, FairSharing, FlavorFungibility
from worker_agent.api.cluster_queue import ResourceGroup as ResourceGroupView
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.engine.preemption.ranking import CandidateLists
from worker_agent.engine.quota import QueueNode, Quota
from worker_agent.engine.resources import Amounts, FlavorResource, flavor_resource, quota_amount
from worker_agent.engine.workload_info import WorkloadRow


class ResourceGroup:
    """Resources that get one flavor together, and the flavors in order of preference. ``place``: in the queue."""

    __slots__ = ("flavors", "place", "resources", "sorted_resources")

    def __init__(self, view: ResourceGroupView, place: int) -> None:
        self.place = place
        self.flavors: tuple[str, ...] = tuple(flavor.name for flavor in view.flavors)
        self.resources: frozenset[str] = frozenset(view.covered_resources)
        self.sorted_resources: tuple[str, ...] = tuple(sorted(view.covered_resources))


class Tally:
    """Counts and usage of workloads that hold quota, and of those among them that are admitted."""

    __slots__ = ("admitted", "admitted_usage", "reserving", "usage")

    def __init__(self) -> None:
        self.reserving = 0
        self.admitted = 0
        self.usage: Amounts = {}
        self.admitted_usage: Amounts = {}

    def add(self, row: WorkloadRow, admitted: bool, sign: int) -> None:
        self.reserving += sign
        _accumulate(self.usage, row.usage, sign)
        if admitted:
            self.admitted += sign
            _accumulate(self.admitted_usage, row.usage, sign)


def _accumulate(total: Amounts, usage: Amounts, sign: int) -> None:
    for fr, amount in usage.items():
        rest = total.get(fr, 0) + sign * amount
        if rest:
            total[fr] = rest
        else:
            total.pop(fr, None)


class ClusterQueueRow:
    """One ClusterQueue that the state knows."""

    __slots__ = (
        "admission_fair_sharing",
        "borrow_within_cohort",
        "by_resource",
        "candidates",
        "checks",
        "cohort_name",
        "flavors",
        "fungibility",
        "groups",
        "local_tallies",
        "name",
        "node",
        "reclaim_within_cohort",
        "reservations",
        "scanned",
        "selector",
        "selector_error",
        "stop_policy",
        "strict",
        "tally",
        "terminating",
        "view",
        "within_cluster_queue",
    )

    def __init__(self, view: ClusterQueue, node: QueueNode) -> None:
        self.name: str = view.metadata.name
        self.node = node
        self.reservations: dict[Key, WorkloadRow] = {}
        self.candidates = CandidateLists()
        self.tally = Tally()
        self.local_tallies: dict[Key, Tally] = {}
        self.adopt(view)

    def adopt(self, view: ClusterQueue) -> None:
        """Take over a new version of the object. Raises quantity.QuantityError before anything changed."""
        spec = view.spec
        self.view = view
        self.cohort_name: str = spec.cohort_name
        self.groups: tuple[ResourceGroup, ...] = tuple(
            ResourceGroup(group, place) for place, group in enumerate(spec.resource_groups)
        )
        self.by_resource: dict[str, ResourceGroup] = {r: g for g in reversed(self.groups) for r in g.resources}
        self.flavors: tuple[str, ...] = tuple(flavor for group in self.groups for flavor in group.flavors)
        self.scanned = tuple((group.flavors, group.sorted_resources) for group in self.groups)
        """What a scan of flavors goes over."""
        self.fungibility: FlavorFungibility = spec.flavor_fungibility or FlavorFungibility()
        self.strict: bool = spec.queueing_strategy == names.STRICT_FIFO
        self.terminating: bool = view.metadata.deletion_timestamp is not None
        self.stop_policy: str = spec.stop_policy or names.STOP_NONE
        self._adopt_preemption(view)
        self._adopt_selector(view)
        strategy = spec.admission_checks_strategy
        self.checks: dict[str, frozenset[str]] = {
            rule.name: frozenset(rule.on_flavors or self.flavors)
            for rule in ((strategy.admission_checks if strategy else None) or ())
        }
        """AdmissionCheck -> the flavors it guards."""
        scope = spec.admission_scope
        self.admission_fair_sharing: bool = (
            scope is not None and scope.admission_mode == "UsageBasedAdmissionFairSharing"
        )
        self.node.weight = weight(spec.fair_sharing)

    def differs(self, view: ClusterQueue) -> bool:
        """Whether somebody wrote the spec; a generation tells it even where the new one equals the old one."""
        return self.view.metadata.generation != view.metadata.generation or self.view.spec != view.spec

    def _adopt_preemption(self, view: ClusterQueue) -> None:
        preemption = view.spec.preemption
        self.within_cluster_queue: str = preemption.within_cluster_queue if preemption else "Never"
        self.reclaim_within_cohort: str = preemption.reclaim_within_cohort if preemption else "Never"
        borrow = preemption.borrow_within_cohort if preemption else None
        self.borrow_within_cohort: BorrowWithinCohort = borrow or BorrowWithinCohort()

    def _adopt_selector(self, view: ClusterQueue) -> None:
        self.selector: selectors.Query | None = None
        self.selector_error = ""
        if view.spec.namespace_selector is not None:
            try:
                self.selector = selectors.compile_selector(view.spec.namespace_selector)
            except selectors.SelectorError as error:
                self.selector_error = str(error)

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels may use the queue."""
        return self.selector is not None and self.selector.matches(labels)

    def hold(self, row: WorkloadRow, admitted: bool) -> None:
        """Enter a workload with its usage; the caller adds the usage to the tree."""
        self.reservations[row.key] = row
        self.candidates.add(row)
        self.tally.add(row, admitted, 1)
        self.local_tallies.setdefault(row.queue, Tally()).add(row, admitted, 1)

    def release(self, row: WorkloadRow, admitted: bool) -> None:
        del self.reservations[row.key]
        self.candidates.discard(row)
        self.tally.add(row, admitted, -1)
        tally = self.local_tallies[row.queue]
        tally.add(row, admitted, -1)
        if not tally.reserving:
            del self.local_tallies[row.queue]

    def required_checks(self, flavors: Iterable[str]) -> set[str]:
        """AdmissionChecks that a workload on these flavors has to pass; on none it passes those of all."""
        used = set(flavors)
        every = {flavor for group in self.groups for flavor in group.flavors}
        return {name for name, guarded in self.checks.items() if (guarded & used if used else every <= guarded)}


class LocalQueueRow:
    """One LocalQueue. A stopped one offers none of its workloads."""

    __slots__ = ("cluster_queue", "key", "stopped", "view", "weight")

    def __init__(self, view: LocalQueue) -> None:
        self.view = view
        self.key: Key = view.metadata.key
        self.cluster_queue: str = view.spec.cluster_queue
        self.stopped: bool = (view.spec.stop_policy or names.STOP_NONE) != names.STOP_NONE
        self.weight: float = weight(view.spec.fair_sharing)


def weight(fair_sharing: FairSharing | None) -> float:
    """The fair sharing weight, 1 where none is set."""
    if fair_sharing is None or fair_sharing.weight is None:
        return 1.0
    return float(quantity.parse(fair_sharing.weight))


def quotas(groups: Iterable[ResourceGroupView]) -> dict[FlavorResource, Quota]:
    """The quotas of a ClusterQueue's or Cohort's resource groups. Raises quantity.QuantityError."""
    result: dict[FlavorResource, Quota] = {}
    for group in groups:
        for flavor in group.flavors:
            for entry in flavor.resources:
                result[flavor_resource(flavor.name, entry.name)] = Quota(
                    quota_amount(entry.name, entry.nominal_quota),
                    None if entry.borrowing_limit is None else quota_amount(entry.name, entry.borrowing_limit),
                    None if entry.lending_limit is None else quota_amount(entry.name, entry.lending_limit),
                )
    return result


NO_LABELS: Final[Mapping[str, str]] = {}

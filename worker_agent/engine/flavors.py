"""Flavor assignment: the scan that gives each pod set its flavors (spec/engine 8).

``assign`` reads like the outer loop of 8.1: pod set groups in order, for each resource a scan of its resource group.
What an algorithm consults beyond quota (preemption, placement) comes in with the request.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from worker_agent.api import names, selectors
from worker_agent.engine import modes, quota, resources
from worker_agent.engine.assignment import Assignment, Attempt, FlavorChoice, PodSetResult
from worker_agent.engine.cluster_queue import ResourceGroup
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.hierarchy import lowest_subtree_that_fits
from worker_agent.engine.modes import BEST, WORST, FlavorMode, NoFitReason, PreemptionMode
from worker_agent.engine.resources import PODS, Amounts, FlavorResource, Requests
from worker_agent.engine.scan import ScanState
from worker_agent.engine.slice_replacement import Replaced
from worker_agent.engine.tas import topology_assignment
from worker_agent.engine.tas.placement import asks_for_topology
from worker_agent.engine.workload_info import PodSetRow


def assign(request: FlavorRequest, counts: Sequence[int] | None = None) -> Assignment:
    """Choose flavors for all pod sets, or say what is in the way. ``counts`` replaces the pod counts, by position."""
    return _Assigner(request, counts).run()


def with_places(request: FlavorRequest, assignment: Assignment) -> Assignment:
    """The assignment, whose flavors are chosen, with places for its pods or in a lower mode."""
    if request.policy.topology_aware and assignment.mode is not modes.Mode.NO_FIT and _may_be_placed(request):
        replaced = request.replaced.row if request.replaced is not None else None
        request.placement.place(request.preemptor, assignment, replaced)
    return assignment


def _may_be_placed(request: FlavorRequest) -> bool:
    """Whether topologies have any say: a flavor of the queue has one, or a pod set asks for one."""
    flavors = request.state.catalog.flavors
    for name in request.queue.flavors:
        flavor = flavors.get(name)
        if flavor is None or flavor.topology:
            return True
    pod_sets = request.row.pod_sets
    if len(pod_sets) == 1:
        return pod_sets[0].topology_request is not None
    return any(pod_set.topology_request is not None for pod_set in pod_sets)


class _Assigner:
    """One attempt; ``usage`` is what the pod sets before the current one would take."""

    def __init__(self, request: FlavorRequest, counts: Sequence[int] | None) -> None:
        self.request = request
        self.queue = request.queue
        self.usage: Amounts = {}
        self.borrowing = 0
        self.results = [self._blank(i, pod_set, counts) for i, pod_set in enumerate(request.row.pod_sets)]

    def _blank(self, index: int, pod_set: PodSetRow, counts: Sequence[int] | None) -> PodSetResult:
        count, requests = pod_set.count, pod_set.requests
        if counts is not None and counts[index] != count:
            count = counts[index]
            requests = pod_set.scaled(count)
        if PODS in self.queue.by_resource:
            requests = {**requests, PODS: count}
        return PodSetResult(pod_set.name, count, requests)

    def run(self) -> Assignment:
        if self.request.row.reserved_in:
            return self._placed_again()
        results = self.results
        if len(results) == 1:
            self._assign_group(_ALONE)
        else:
            results = self._assign_groups()
        tried = tuple([{r: choice.tried for r, choice in result.flavors.items()} for result in results])
        scan = ScanState(tried, self.queue.node.generation, self.request.cycle, self.request.row.hash)
        return with_places(self.request, Assignment(results, self.usage, self.borrowing, scan))

    def _assign_groups(self) -> list[PodSetResult]:
        """Up to the first group that finds no flavors; the results of those that were looked at."""
        done: list[int] = []
        for members in _groups(self.request.row.pod_sets):
            done += members
            if not self._assign_group(members):
                break
        return [self.results[index] for index in sorted(done)]

    def _placed_again(self) -> Assignment:
        """A workload that holds quota keeps its flavors and asks for no more of it: only pods still need a place."""
        row = self.request.row
        admission = row.workload.status.admission
        told = {assignment.name: assignment for assignment in admission.pod_set_assignments} if admission else {}
        for pod_set, result in zip(row.pod_sets, self.results, strict=True):
            # The admission's own figures: what was reclaimed since is not taken out of it.
            held = told.get(pod_set.name)
            result.requests, result.count = dict(pod_set.requests), pod_set.count
            if held is not None:
                result.requests = resources.parse(held.resource_usage)
                result.count = result.count if held.count is None else held.count
                result.written = topology_assignment.written(held.topology_assignment)
            result.flavors = {r: FlavorChoice(flavor, modes.Mode.FIT, 0) for r, flavor in pod_set.flavors.items()}
            result.topology, result.delayed = pod_set.topology, pod_set.delayed
        scan = ScanState([{} for _ in row.pod_sets], self.queue.node.generation, self.request.cycle, row.hash)
        return with_places(self.request, Assignment(self.results, {}, 0, scan))

    def _assign_group(self, members: Sequence[int]) -> bool:
        """Pod sets of one group get the same flavors. Returns whether all their resources found one."""
        results = self.results if members is _ALONE else [self.results[index] for index in members]
        wanted = results[0].requests if len(results) == 1 else resources.total(r.requests for r in results)
        scan = _GroupScan(self, members, wanted)
        found = scan.run()
        for result in results:
            result.attempts, result.reasons, result.error = scan.attempts, scan.reasons, scan.error
            if found is None:
                result.failed = True
                continue
            for resource, choice in found.items():
                if resource in result.requests:
                    self._take(result, resource, choice)
        if self.request.replaced is not None:
            self._give_back_replaced(self.request.replaced, members, found or {})
        if len(members) > 1:
            self._share_topology(members, found or {})
        return found is not None

    def _share_topology(self, members: Sequence[int], found: Mapping[str, FlavorChoice]) -> None:
        """A pod set that asks for no covered resource follows its group to the nodes."""
        request = self.request
        if not request.policy.topology_aware:
            return
        flavors = request.state.catalog.flavors
        for index in members:
            pod_set, result = request.row.pod_sets[index], self.results[index]
            if not result.flavors and asks_for_topology(pod_set, self.queue, flavors):
                result.flavors = {r: c for r, c in found.items() if c.flavor in flavors and flavors[c.flavor].topology}

    def _take(self, result: PodSetResult, resource: str, choice: FlavorChoice) -> None:
        result.flavors[resource] = choice
        self.borrowing = max(self.borrowing, choice.level)
        fr = resources.flavor_resource(choice.flavor, resource)
        amount = result.requests[resource]
        self.usage[fr] = resources.plus(self.usage[fr], amount) if fr in self.usage else amount

    def _give_back_replaced(
        self, replaced: Replaced, members: Sequence[int], found: Mapping[str, FlavorChoice]
    ) -> None:
        """What the replaced slice holds is not asked for again."""
        for resource, choice in found.items():
            fr = (choice.flavor, resource)
            self.usage[fr] = resources.minus(self.usage[fr], replaced.held_by(members, resource))


_ALONE: Final = (0,)
"""The group of a workload's only pod set."""


def _groups(pod_sets: Sequence[PodSetRow]) -> list[list[int]]:
    """Indexes of pod sets that need the same flavors, in order of their first member."""
    groups: dict[object, list[int]] = {}
    for index, pod_set in enumerate(pod_sets):
        groups.setdefault(index if pod_set.group is None else pod_set.group, []).append(index)
    return list(groups.values())


class _GroupScan:
    """The scans of one pod set group, one per resource group of the queue that it needs."""

    __slots__ = (
        "allowed", "attempts", "error", "first", "fungible", "members", "order", "pod_sets", "queue", "reasons",
        "request", "usage", "wanted",
    )  # fmt: skip

    def __init__(self, assigner: _Assigner, members: Sequence[int], wanted: Requests) -> None:
        request = self.request = assigner.request
        self.queue = assigner.queue
        self.usage = assigner.usage
        self.first = members[0]
        self.members = members
        pod_sets = request.row.pod_sets
        self.pod_sets = pod_sets if len(pod_sets) == 1 else [pod_sets[index] for index in members]
        self.wanted = wanted
        self.order: Iterable[str] = wanted if len(wanted) == 1 else sorted(wanted, key=resources.scan_key)
        self.reasons: list[str] = []
        self.attempts: list[Attempt] = []
        self.error = ""
        policy = request.policy
        self.fungible = policy.flavor_fungibility
        self.allowed = _allowed_flavors(request) if policy.concurrent_admission else None

    def run(self) -> dict[str, FlavorChoice] | None:
        """Resource -> choice; None when some resource found no flavor (then only its reasons are kept)."""
        chosen: dict[str, FlavorChoice] = {}
        for resource in self.order:
            if resource in chosen or self._ignored(resource):
                continue
            found, reasons = self._scan_group_of(resource)
            if not found:
                self.reasons = reasons
                return None
            chosen.update(found)
            self.reasons += reasons
        return chosen

    def _ignored(self, resource: str) -> bool:
        """A resource outside all groups is left alone when nothing of it is asked for, or by configuration."""
        if resource in self.queue.by_resource:
            return False
        return self.wanted[resource] == 0 or self.request.policy.ignore_undeclared

    def _scan_group_of(self, resource: str) -> tuple[dict[str, FlavorChoice], list[str]]:
        group = self.queue.by_resource.get(resource)
        if group is None:
            return {}, [f"resource {resource} unavailable in ClusterQueue"]
        requests = {r: self.wanted[r] for r in self.order if r in group.resources}
        try:
            return self._scan(group, resource, requests)
        except selectors.SelectorError as error:
            self.error = str(error)
            return {}, []

    def _scan(
        self, group: ResourceGroup, resource: str, requests: Requests
    ) -> tuple[dict[str, FlavorChoice], list[str]]:
        fungible, scan = self.fungible, self.request.scan
        start = scan.first_index(self.first, resource) if fungible and scan is not None else 0
        restricted = self.allowed is not None or self.request.nominated is not None
        best: dict[str, FlavorChoice] = {}
        best_mode = WORST
        reasons: list[str] = []
        last = -1
        flavors = group.flavors
        for index in range(start, len(flavors)):
            last = index
            flavor = flavors[index]
            skipped = self._skipped(resource, flavor) if restricted else ""
            if skipped:
                reasons.append(f"skipping flavor {flavor} {skipped}")
                continue
            choices, mode = self._try(group, flavor, requests, reasons)
            if self._stops(mode):
                best, best_mode = choices, mode
                break
            if self._better(mode, best_mode):
                best, best_mode = choices, mode
        if fungible and last != len(flavors) - 1:
            for choice in best.values():
                choice.tried = last
        return best, [] if best_mode.preemption is PreemptionMode.FIT else reasons

    def _stops(self, mode: FlavorMode) -> bool:
        if self.fungible:
            return not modes.tries_next(mode, self.queue.fungibility)
        return mode.preemption is PreemptionMode.FIT

    def _better(self, mode: FlavorMode, best: FlavorMode) -> bool:
        if self.fungible:
            return modes.preferred(mode, best, self.queue.fungibility)
        return mode.preemption > best.preemption

    def _skipped(self, resource: str, flavor: str) -> str:
        """Why a flavor is passed over without a look at it; empty when it is not."""
        nominated = self.request.nominated
        if nominated is not None:
            only = next((nominated[i][resource] for i in self.members if resource in nominated[i]), None)
            if flavor != only:
                return f"as it is not found in the nomination mapping for resource {resource}"
        if self.allowed is not None and flavor not in self.allowed:
            return "due to WorkloadAllowedResourceFlavorAnnotation annotation"
        return ""

    def _try(
        self, group: ResourceGroup, flavor: str, requests: Requests, reasons: list[str]
    ) -> tuple[dict[str, FlavorChoice], FlavorMode]:
        """One flavor: does it suit the pods, and how does its quota serve each resource."""
        place = group.place
        refusal = self._static_mismatch(flavor)
        if refusal:
            reasons.append(refusal)
            self.attempts.append(Attempt(place, flavor, WORST, NoFitReason.NO_MATCHING_FLAVOR, refusal))
            return {}, WORST
        worst = BEST
        severest = NoFitReason.NONE
        details = []
        choices: dict[str, FlavorChoice] = {}
        for resource, amount in requests.items():
            mode, detail, reason = self._quota_mode(resources.flavor_resource(flavor, resource), amount)
            if detail:
                reasons.append(detail)
                details.append(detail)
            severest = max(severest, reason)
            if mode is not worst and modes.preferred(worst, mode, self.queue.fungibility):
                worst = mode
            choices[resource] = FlavorChoice(flavor, mode.preemption.mode, mode.level)
        self.attempts.append(Attempt(place, flavor, worst, severest, ";".join(details)))
        return choices, worst

    def _quota_mode(self, fr: FlavorResource, amount: int) -> tuple[FlavorMode, str, NoFitReason]:
        """A workload that replaces a slice is bound to its flavors and asks only for what it needs beyond it."""
        replaced = self.request.replaced
        if replaced is not None:
            flavor, resource = fr
            original = replaced.flavor(self.first, resource)
            if original != flavor:
                detail = f"could not assign {flavor} flavor since the original workload is assigned: {original}"
                return WORST, detail, NoFitReason.NO_MATCHING_FLAVOR
            amount = resources.minus(amount, replaced.held_by(self.members, resource))
        return quota_mode(self.request, fr, amount, self.usage.get(fr, 0))

    def _static_mismatch(self, name: str) -> str:
        flavors = self.request.state.catalog.flavors
        flavor = flavors.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        if self.request.policy.topology_aware:
            for pod_set in self.pod_sets:
                if pod_set.topology_request is None and not flavor.topology:
                    continue
                refusal = self.request.placement.mismatch(pod_set, flavor, self.queue, flavors)
                if refusal:
                    return refusal
        for pod_set in self.pod_sets:
            refusal = flavor.mismatch(pod_set.shape)
            if refusal:
                return refusal
        return ""


def _allowed_flavors(request: FlavorRequest) -> frozenset[str] | None:
    """The flavors to which a variant of a concurrently admitted workload is bound; None for all."""
    listed = request.row.workload.metadata.annotation(names.ALLOWED_FLAVORS_ANNOTATION)
    if not listed:
        return None
    return frozenset(name.strip() for name in listed.split(","))


def quota_mode(
    request: FlavorRequest, fr: FlavorResource, amount: int, assumed: int
) -> tuple[FlavorMode, str, NoFitReason]:
    """How the queue's quota serves ``amount`` beside what earlier pod sets take (spec/engine 8.5)."""
    node = request.queue.node
    flavor, resource = fr
    total = resources.plus(amount, assumed)
    most = quota.potential_available(node, fr)
    if total > most:
        detail = (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
            f"({resources.text(resource, assumed)}) + current podset request ({resources.text(resource, amount)}) > "
            f"maximum capacity ({resources.text(resource, most)})"
        )
        return FlavorMode(PreemptionMode.NO_FIT, 0), detail, NoFitReason.EXCEEDS_MAX_QUOTA
    level, smaller = lowest_subtree_that_fits(node, fr, total)
    free = quota.exposed(node, fr)
    if total <= free:
        return FlavorMode(PreemptionMode.FIT, level), "", NoFitReason.NONE
    lacking = resources.text(resource, resources.minus(total, free))
    detail = f"insufficient unused quota for {resource} in flavor {flavor}, {lacking} more needed"
    if not _worth_simulating(request, node.nominal(fr) >= total or smaller):
        return FlavorMode(PreemptionMode.NO_FIT, level), detail, NoFitReason.WAITING_FOR_QUOTA
    found = request.search.simulate(request.preemptor, fr, total, level)
    return FlavorMode(found.mode, found.level), detail, NoFitReason.NONE


def _worth_simulating(request: FlavorRequest, own_room: bool) -> bool:
    """Preempting while borrowing from the whole tree needs a policy that allows it."""
    queue = request.queue
    if own_room or queue.borrow_within_cohort.policy != "Never":
        return True
    return request.policy.fair_sharing and queue.reclaim_within_cohort != "Never"

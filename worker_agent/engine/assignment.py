"""Assignment: which flavors a workload would get, how well they serve it, and why not better (spec/engine 8)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from worker_agent.api.document import Document
from worker_agent.engine.modes import FlavorMode, Mode, NoFitReason, PreemptionMode
from worker_agent.engine.resources import Amounts, Requests
from worker_agent.engine.scan import ScanState
from worker_agent.engine.tas.ask import PodSetAsk
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.topology_assignment import TopologyAssignment


class FlavorChoice:
    """The flavor of one resource. ``tried``: the index up to which the scan got, -1 when it was the last one."""

    __slots__ = ("flavor", "level", "mode", "tried")

    def __init__(self, flavor: str, mode: Mode, level: int) -> None:
        self.flavor = flavor
        self.mode = mode
        self.level = level
        self.tried = -1


class Attempt(NamedTuple):
    """One flavor that a scan looked at. ``group``: index of the resource group."""

    group: int
    flavor: str
    mode: FlavorMode
    reason: NoFitReason
    detail: str
    """Why it was not a plain fit; empty when it was."""


class PodSetResult:
    """What one pod set got. No flavors although it asks for something means that it does not fit."""

    __slots__ = (
        "attempts",
        "count",
        "delayed",
        "error",
        "failed",
        "flavors",
        "name",
        "placed",
        "reasons",
        "requests",
        "topology",
        "written",
    )

    def __init__(self, name: str, count: int, requests: Requests) -> None:
        self.name = name
        self.count = count
        self.requests = requests
        self.flavors: dict[str, FlavorChoice] = {}
        self.reasons: list[str] = []
        self.error = ""
        self.failed = False
        self.attempts: list[Attempt] = []
        self.topology: TopologyAssignment | None = None
        """Where the pods go, if a topology places them."""
        self.placed: tuple[TopologyAssignment, tuple[PlacedPods, ...]] | None = None
        """What the pods take there, remembered with the place it was worked out for."""
        self.written: Document | None = None
        """The same as it stands in the admission already, if it does."""
        self.delayed = ""
        """``Pending`` while the place is found only after the checks, ``Ready`` afterwards."""

    @property
    def mode(self) -> Mode:
        if self.failed:
            return Mode.NO_FIT
        if not self.reasons:
            return Mode.FIT
        modes = [choice.mode for choice in self.flavors.values()]
        return modes[0] if len(modes) == 1 else min(modes, default=Mode.NO_FIT)

    @property
    def usage(self) -> Requests:
        """What counts: the requests of the resources that have a flavor."""
        return {resource: self.requests[resource] for resource in self.flavors if resource in self.requests}

    @property
    def no_fit_reason(self) -> NoFitReason:
        if not self.attempts:
            return NoFitReason.NO_MATCHING_FLAVOR
        mildest: dict[int, NoFitReason] = {}
        for attempt in self.attempts:
            if attempt.mode.preemption is PreemptionMode.NO_FIT:
                mildest[attempt.group] = min(attempt.reason, mildest.get(attempt.group, attempt.reason))
        return max(mildest.values(), default=NoFitReason.NONE)

    @property
    def message(self) -> str:
        if self.error:
            return f"failed to assign flavors to pod set {self.name}: {self.error}"
        return f"couldn't assign flavors to pod set {self.name}: {', '.join(sorted(self.reasons))}"


def _worst(pod_sets: list[PodSetResult]) -> Mode:
    return min((pod_set.mode for pod_set in pod_sets), default=Mode.NO_FIT)


class Assignment:
    """The result of one attempt. ``mode`` may be lowered or raised by placement and by the cycle."""

    __slots__ = ("asks", "borrowing", "mode", "placed_at", "pod_sets", "scan", "usage")

    def __init__(self, pod_sets: list[PodSetResult], usage: Amounts, borrowing: int, scan: ScanState) -> None:
        self.pod_sets = pod_sets
        self.usage = usage
        self.borrowing = borrowing
        """The highest level up to which any of its resources borrows."""
        self.scan = scan
        self.asks: Mapping[str, Sequence[PodSetAsk]] = {}
        """What it asks of topologies, by flavor."""
        self.placed_at = -1
        """The journal's version on which all its places were found, beside what runs; -1: not known."""
        self.mode: Mode = pod_sets[0].mode if len(pod_sets) == 1 else _worst(pod_sets)

    @property
    def message(self) -> str:
        parts = []
        for pod_set in self.pod_sets:
            if pod_set.error:
                return pod_set.message
            if pod_set.reasons:
                parts.append(pod_set.message)
        return "; ".join(parts)

    @property
    def no_fit_reason(self) -> str:
        """The reason of the condition for an assignment in mode NO_FIT; may be empty (spec/engine 8.7)."""
        failing = (pod_set.no_fit_reason for pod_set in self.pod_sets if pod_set.mode is Mode.NO_FIT)
        return max(failing, default=NoFitReason.NONE).text

    def choices(self) -> Iterator[tuple[str, FlavorChoice]]:
        """(resource, choice) over all pod sets."""
        for pod_set in self.pod_sets:
            yield from pod_set.flavors.items()

    def needing_preemption(self) -> set[tuple[str, str]]:
        """The FlavorResources whose mode is Preempt."""
        return {
            (choice.flavor, resource)
            for pod_set in self.pod_sets
            for resource, choice in pod_set.flavors.items()
            if choice.mode is Mode.PREEMPT
        }

    @property
    def flavors(self) -> set[str]:
        return {choice.flavor for _, choice in self.choices()}

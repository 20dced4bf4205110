"""Which flavor a scan takes (spec/engine 8.4 and 8.6)."""

import pytest

from tests.builders import admitted, cluster_queue, flavor, local_queue, namespace, pod_set, quota, workload
from tests.engine_world import EngineWorld
from tests.unit.engine.tables import SearchTable
from worker_agent.api.cluster_queue import FlavorFungibility
from worker_agent.api.document import Document
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.modes import FlavorMode, PreemptionMode, preferred, tries_next
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption.search import Preemptor, Simulation, Target
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.workload_info import WorkloadRow

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = PreemptionMode
NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
STOP = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}


@pytest.mark.parametrize(
    ("a", "b", "preference", "expected"),
    [
        ((PREEMPT, 1), (FIT, 2), "BorrowingOverPreemption", False),
        ((PREEMPT, 1), (FIT, 2), "PreemptionOverBorrowing", True),
        ((FIT, 2), (PREEMPT, 1), None, True),
        ((NO_CANDIDATES, 1), (FIT, 2), "PreemptionOverBorrowing", False),
        ((NO_CANDIDATES, 1), (FIT, 2), "BorrowingOverPreemption", False),
        ((RECLAIM, 1), (RECLAIM, 1), None, False),
        ((NO_FIT, 0), (NO_FIT, 0), None, False),
        ((NO_CANDIDATES, 5), (NO_FIT, 0), None, True),
    ],
)
def test_preference_between_two_flavors(
    a: tuple[PreemptionMode, int], b: tuple[PreemptionMode, int], preference: str | None, expected: bool
) -> None:
    assert preferred(FlavorMode(*a), FlavorMode(*b), FlavorFungibility(preference=preference)) is expected


@pytest.mark.parametrize(
    ("mode", "when_can_borrow", "when_can_preempt", "expected"),
    [
        ((FIT, 0), "TryNextFlavor", "TryNextFlavor", False),
        ((FIT, 1), "MayStopSearch", "TryNextFlavor", False),
        ((FIT, 1), "TryNextFlavor", "MayStopSearch", True),
        ((PREEMPT, 0), "MayStopSearch", "MayStopSearch", False),
        ((RECLAIM, 0), "MayStopSearch", "TryNextFlavor", True),
        ((NO_CANDIDATES, 0), "MayStopSearch", "MayStopSearch", True),
    ],
)
def test_when_a_scan_goes_on(
    mode: tuple[PreemptionMode, int], when_can_borrow: str, when_can_preempt: str, expected: bool
) -> None:
    fungibility = FlavorFungibility(when_can_borrow=when_can_borrow, when_can_preempt=when_can_preempt)
    assert tries_next(FlavorMode(*mode), fungibility) is expected


def victims_world(modes: dict[str, PreemptionMode], fungibility: Document, held: tuple[str, ...]) -> EngineWorld:
    """Flavors uno, due, tre with 10 cpu each; one cpu is taken in each of ``held``."""
    flavors = {name: {"cpu": 10} for name in ("uno", "due", "tre")}
    world = EngineWorld(
        [
            *(flavor(name) for name in flavors),
            namespace(),
            cluster_queue("q", flavors, fungibility=fungibility, preemption={"withinClusterQueue": "LowerPriority"}),
            local_queue(),
            *(admitted(f"in-{name}", flavor=name) for name in held),
        ]
    )
    world.search = SearchTable(modes, victims=["in-uno", "in-due", "in-tre"])
    world.put(workload("new", cpu=10))
    return world


def chosen(world: EngineWorld) -> set[str]:
    """The flavors of the next admission."""
    assignment = world.cycle().admissions[0].admission["podSetAssignments"][0]
    return set(assignment["flavors"].values())


def test_a_later_flavor_that_fits_beats_an_earlier_one_that_needs_preemption() -> None:
    world = victims_world({"uno": PREEMPT, "due": RECLAIM}, NEXT, ("uno", "due"))
    assert chosen(world) == {"tre"}


def test_a_scan_that_may_stop_at_preemption_takes_the_first_flavor_with_victims() -> None:
    fungibility = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}
    world = victims_world({"uno": PREEMPT, "due": RECLAIM}, fungibility, ("uno", "due"))
    world.cycle()
    assert world.message("ns/new").endswith("Pending the preemption of 2 workload(s)")


def borrowing_world(fungibility: Document, borrowable: int = 10) -> EngineWorld:
    """Queue q with flavors f0, f1, f2 of 1 cpu each, more to borrow of each in the cohort."""
    names = ("f0", "f1", "f2")
    return EngineWorld(
        [
            *(flavor(name) for name in names),
            namespace(),
            cluster_queue("q", {name: {"cpu": quota(1)} for name in names}, cohort="c", fungibility=fungibility),
            cluster_queue("lender", {name: {"cpu": borrowable} for name in names}, cohort="c"),
            local_queue(),
        ]
    )


def test_the_first_fit_wins_borrowed_or_not_by_default() -> None:
    world = borrowing_world({})
    world.put(workload(cpu=2))
    assert chosen(world) == {"f0"}


def test_a_flavor_without_borrowing_is_sought_when_asked_for() -> None:
    world = borrowing_world({"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"})
    world.put(admitted("a", flavor="f0"))
    world.put(workload("b", cpu=1))
    assert chosen(world) == {"f1"}


def test_without_the_fungibility_gate_the_first_fit_wins() -> None:
    names = ("f0", "f1")
    world = EngineWorld(
        [
            *(flavor(n) for n in names),
            namespace(),
            cluster_queue("q", {"f0": {"cpu": 1}, "f1": {"cpu": 5}}, fungibility=NEXT),
            local_queue(),
        ],
        Policy(flavor_fungibility=False),
    )
    world.put(workload(cpu=2))
    assert chosen(world) == {"f1"}


# -- the resume state ------------------------------------------------------------------------------------------------


def scan_world(policy: Policy | None = None, flavors: tuple[str, ...] = ("f0", "f1")) -> EngineWorld:
    """Flavors of 4 cpu; the scan stops at the first flavor that fits or has victims."""
    return EngineWorld(
        [
            *(flavor(name) for name in flavors),
            namespace(),
            cluster_queue(
                "q",
                {name: {"cpu": 4} for name in flavors},
                fungibility=STOP,
                preemption={"withinClusterQueue": "LowerPriority"},
            ),
            local_queue(),
        ],
        policy or Policy(),
    )


def test_a_scan_that_stopped_early_keeps_its_workload_out_of_the_parking_lot() -> None:
    """Example 15: no victims after all, but a flavor is left to try."""
    world = scan_world(flavors=("f0", "f1", "f2"))
    world.put(*(admitted(f"in-{name}", flavor=name, cpu=4) for name in ("f0", "f1", "f2")))
    world.search = SearchTable({"f1": PREEMPT})
    world.put(workload("w", cpu=4))
    world.cycle()
    assert world.active("q") == ["w"]
    world.cycle()
    assert world.parked("q") == ["w"]


def two_pod_sets() -> Document:
    return workload("w", pod_set("p", requests={"cpu": 1}), pod_set("q", requests={"cpu": 4}))


def test_progress_of_one_pod_set_is_kept_over_a_cycle() -> None:
    """Example 36 with the gate on: the second cycle starts at f1 for the first pod set and parks."""
    world = scan_world()
    world.put(admitted("a", flavor="f0", cpu=1), admitted("b", flavor="f1", cpu=1))
    world.put(two_pod_sets())
    world.cycle()
    assert world.active("q") == ["w"]
    world.cycle()
    assert world.parked("q") == ["w"]


def test_without_the_gate_an_observed_status_write_loses_the_progress() -> None:
    """Example 36: the write of cycle 1 is observed, so it takes a third cycle to park."""
    world = scan_world(Policy(preserve_scan_progress=False))
    world.put(admitted("a", flavor="f0", cpu=1), admitted("b", flavor="f1", cpu=1))
    world.put(two_pod_sets())
    for _ in range(2):
        world.cycle()
        assert world.active("q") == ["w"]
    world.cycle()
    assert world.parked("q") == ["w"]


def test_a_recomputation_records_where_its_restricted_scan_ended() -> None:
    """Example 35: the victim is claimed by another queue's head; p stays on f0, q runs out of flavors."""
    names = ("f0", "f1")
    quotas = {name: {"cpu": 4} for name in names}
    preempts = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    world = EngineWorld(
        [
            *(flavor(name) for name in names),
            namespace(),
            cluster_queue("a", quotas, cohort="c", fungibility=STOP, preemption=preempts),
            cluster_queue("q", quotas, cohort="c", fungibility=STOP, preemption=preempts),
            local_queue("lq-a", "a"),
            local_queue(),
            admitted("in-f0", cluster_queue="q", flavor="f0", cpu=8),
            admitted("in-f1", cluster_queue="q", flavor="f1", cpu=8),
        ]
    )
    world.search = ClaimedOnce()
    world.put(workload("first", queue="lq-a", cpu=4, priority=9), two_pod_sets())
    world.cycle()
    assert world.reason("ns/first") == "WaitingForPreemptedWorkloads"
    assert world.reason("ns/w") == "WaitingForQuota"
    assert world.active("q") == ["w"]


class ClaimedOnce(SearchTable):
    """Every workload wants the same victim, in flavor f0; once it is gone there is none."""

    def __init__(self) -> None:
        super().__init__({"f0": PREEMPT})

    def simulate(self, preemptor: Preemptor, fr: FlavorResource, amount: int, level: int) -> Simulation:
        if not self._victims(preemptor):
            return Simulation(NO_CANDIDATES, level)
        return super().simulate(preemptor, fr, amount, level)

    def targets(self, preemptor: Preemptor, assignment: Assignment) -> list[Target]:
        return [Target(row, "InCohortReclamation") for row in self._victims(preemptor)]

    def _victims(self, preemptor: Preemptor) -> list[WorkloadRow]:
        rows = preemptor.state.cluster_queues["q"].reservations.values()
        return [row for row in rows if row.key.name == "in-f0"]

"""Two entries of one cycle that want the same victims."""

from dataclasses import replace

from tests.unit.engine_preemption.cases import coming, queue, running, victims, world
from worker_agent.engine.policy import DEFAULT

BOTH = {"reclaimWithinCohort": "Any"}


def two_preemptors(policy=DEFAULT, borrowed=2):
    return world(
        queue("a", 2, **BOTH), queue("b", 2, **BOTH), queue("idle", 0), running("big", "idle", 4), policy=policy
    )


def test_one_big_victim_serves_both():
    """The second one fits once the victim of the first is gone: it waits, and its room is kept."""
    made = two_preemptors()
    assert victims(made, coming("a", 2, name="first"), coming("b", 2, name="second")) == {"big": "InCohortReclamation"}
    assert made.reason("ns/second") == "WaitingForPreemptedWorkloads"
    assert "will fit after these preemptions complete" in made.message("ns/second")
    assert made.plan.recomputations == {"b": {"deferred_fit": 1}}


def test_without_recomputation_the_second_is_passed_over():
    made = two_preemptors(replace(DEFAULT, recompute_overlapping_targets=False))
    assert victims(made, coming("a", 2, name="first"), coming("b", 2, name="second")) == {"big": "InCohortReclamation"}
    assert made.message("ns/second") == "Workload has overlapping preemption targets with another workload"
    assert made.plan.preemption_skips == {"b": 1}
    assert made.active("b") == ["second"]


def test_the_second_takes_other_victims_when_there_are_some():
    made = world(
        queue("a", 1, **BOTH), queue("b", 1, **BOTH), queue("idle", 0),
        running("early", "idle", 1, since=1), running("late", "idle", 1, since=2),
    )  # fmt: skip
    found = victims(made, coming("a", 1, name="first"), coming("b", 1, name="second"))
    assert found == {"early": "InCohortReclamation", "late": "InCohortReclamation"}
    assert made.plan.recomputations == {"b": {"new_targets": 1}}

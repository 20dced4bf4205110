"""Faults in fair shares and in keeping a preemptor's turn: B56, B58, and what was looked for beside them."""

from dataclasses import replace

import pytest

from tests.builders import cohort, pod_set, workload
from tests.unit.engine_preemption.cases import FAIR, coming, queue, running, victims, world
from worker_agent.api.meta import Key

ANY = {"reclaimWithinCohort": "Any"}
RECLAIMED = "InCohortReclamation"


def reserved(made, name):
    row = made.state.rows.get(Key("ns", name))
    return row is not None and row.reserved_in != ""


def victims_of(made):
    """Of the last cycle."""
    return [step.key.name for step in made.plan.preemptions] if made.plan else []


def release(made):
    """Jobs of evicted workloads have stopped."""
    made.release_evicted()


class TestB56WeightZeroIsNoCrime:
    """Weight 0 is served last where it borrows; what is its own stays its own."""

    def flat(self, *extra):
        return world(queue("be", 1, fairSharing={"weight": "0"}, **ANY), queue("hp", 0, **ANY), *extra, policy=FAIR)

    def below(self, *extra):
        """The quota belongs to a cohort of weight 0."""
        own = cohort("low", {"default": {"cpu": 1}}, parent="c", fairSharing={"weight": "0"})
        return world(cohort("c"), own, queue("be", 0, "low", **ANY), queue("hp", 0, **ANY), *extra, policy=FAIR)

    @pytest.mark.parametrize("arrange", ["flat", "below"])
    def test_it_keeps_what_it_does_not_borrow(self, arrange):
        made = getattr(self, arrange)(running("p", "be"))
        assert victims(made, coming("hp", name="q")) == {}
        assert reserved(made, "p")
        assert not reserved(made, "q")

    def test_it_takes_its_own_quota_back(self):
        made = self.flat()
        made.put(coming("hp", name="q"))
        made.settle()
        assert reserved(made, "q")
        assert victims(made, coming("be", name="p")) == {"q": RECLAIMED}
        release(made)
        made.settle()
        assert reserved(made, "p")
        assert not reserved(made, "q")

    def test_its_cohort_lets_it_take_the_cohorts_quota_back(self):
        """Seen from where the paths part the cohort of weight 0 borrows nothing: its share is no share at all."""
        made = self.below(running("q", "hp"))
        assert victims(made, coming("be", name="p")) == {"q": "InCohortFairSharing"}

    def test_where_it_borrows_it_yields_first(self):
        """Found beside B56: the other way round weight 0 must not protect a borrower either."""
        made = world(
            queue("be", 0, fairSharing={"weight": "0"}, **ANY),
            queue("hp", 0, **ANY),
            queue("lender", 1),
            running("p", "be"),
            policy=FAIR,
        )
        assert victims(made, coming("hp", name="q")) == {"p": "InCohortFairSharing"}


class TestB58TurnOfAPreemptorIsKept:
    """``p`` reclaims what ``v`` borrowed; ``z``, more important, can never fit."""

    def world(self):
        made = world(queue("cq1", 3, **ANY), queue("cq2", 0), running("v", "cq2", 3))
        made.put(coming("cq1", 10, priority=100, name="z"))
        made.cycle()
        assert made.parked("cq1") == ["z"]
        made.put(coming("cq1", 3, priority=10, name="p"))
        assert [step.key.name for step in made.cycle().preemptions] == ["v"]
        return made

    def poke(self, made, label):
        found = made.objects["ClusterQueue", Key("", "cq1")]
        found["spec"]["namespaceSelector"] = {"matchExpressions": [{"key": label, "operator": "DoesNotExist"}]}
        found["metadata"]["generation"] += 1
        made.put(found)

    def test_however_often_the_queue_is_poked(self):
        made = self.world()
        for number in range(5):
            self.poke(made, f"poke{number}")
            assert made.active("cq1")[0] == "p"
            assert made.cycle().preemptions == ()
        release(made)
        for _ in range(4):
            made.cycle()
        assert reserved(made, "p")
        assert not reserved(made, "v")
        assert not reserved(made, "z")

    def test_the_victim_is_evicted_once(self):
        made = self.world()
        seen = 0
        for number in range(3):
            self.poke(made, f"poke{number}")
            seen += len(made.cycle().preemptions)
        release(made)
        for _ in range(6):
            seen += len(made.cycle().preemptions)
        assert seen == 0

    def test_its_turn_ends_with_it(self):
        """Found beside B58: a preemptor that is gone must not leave its place to nobody."""
        made = self.world()
        made.delete("ns/p")
        release(made)
        made.put(coming("cq1", 3, priority=100, name="h"))
        made.settle()
        assert reserved(made, "h")

    def test_it_is_not_kept_for_one_that_changed_its_mind(self):
        made = self.world()
        made.workload(Key("ns", "p"))["spec"]["active"] = False
        made.changed[Key("ns", "p")] = None
        made.observe()
        release(made)
        made.put(coming("cq1", 3, priority=100, name="h"))
        made.settle()
        assert reserved(made, "h")

    def test_a_strict_queue_has_no_turns_to_keep(self):
        """Its order is its promise: who is more important goes first, victims on their way or not."""
        made = world(
            {**queue("cq1", 3, **ANY), "spec": {**queue("cq1", 3, **ANY)["spec"], "queueingStrategy": "StrictFIFO"}},
            queue("cq2", 0),
            running("v", "cq2", 3),
        )
        made.put(coming("cq1", 3, priority=10, name="p"))
        made.cycle()
        made.put(coming("cq1", 3, priority=100, name="h"))
        assert made.active("cq1")[0] == "h"

    def test_a_more_important_one_that_fits_comes_right_after(self):
        """While victims stop the preemptor goes first in every cycle (spec/engine 5.5, as recorded); not any longer."""
        made = self.world()
        made.put(workload("h", queue="cq1", cpu=0, priority=100))
        made.cycle()
        assert not reserved(made, "h")
        release(made)
        made.cycle()
        made.cycle()
        assert reserved(made, "p")
        assert reserved(made, "h")


class TestVictimThatComesBack:
    """Fair sharing decides twice, by two measures, and they may differ: Kueue 0.20 does so, and we decide alike.

    A workload that may come with fewer pods takes lent quota back for as many as its nominal quota holds: no share is
    asked. When its victims have stopped, it fits with more pods than that, by borrowing; with these it stands in the
    tournament, has the higher share there, and the victim is admitted first. Then it takes the quota back again.
    Every other way that we know of ends: without ``minCount`` what was taken back is what is asked for. Kueue's remedy
    is the gate PrioritizePreemptorWorkloads (off by default): who waits for its victims comes before all others then.
    """

    def contended(self, least, policy=FAIR):
        cohorts = cohort("c", {"default": {"cpu": 2}})
        made = world(
            cohorts,
            queue("owner", 4, **ANY),
            queue("guest", 0, fairSharing={"weight": "4"}),
            running("v", "guest", cpu=3),
            policy=policy,
        )
        made.put(workload("p", pod_set(count=3, min_count=least, requests={"cpu": 2}), queue="owner"))
        return made

    def rounds(self, made):
        for _ in range(3):
            made.cycle()
            yield reserved(made, "p"), victims_of(made)
            release(made)
            made.advance(1)
            made.cycle()
            yield reserved(made, "p"), victims_of(made)

    def test_fewer_pods_within_nominal_take_back_what_more_pods_then_lose(self):
        assert list(self.rounds(self.contended(2))) == [(False, ["v"]), (False, [])] * 3

    def test_who_waits_for_its_victims_comes_first_under_the_gate(self):
        rounds = self.rounds(self.contended(2, replace(FAIR, prioritize_preemptors=True)))
        assert list(rounds) == [(False, ["v"]), *[(True, [])] * 5]

    def test_whole_workloads_do_not_alternate(self):
        made = self.contended(None)
        assert not any(chosen for _, chosen in self.rounds(made))

"""Which cluster is chosen among those that were evaluated, and what is said of it."""

from datetime import UTC, datetime, timedelta

import pytest

from hub.engine import candidates, dispatch
from hub.engine.dispatch import Candidates
from hub.engine.evaluation import Evaluation, Outlook
from hub.engine.remote_group import Sight
from tests.unit.hub.groups import QUOTA, checked, condition, workload
from worker_agent.api import names
from worker_agent.api.dispatch_policy import DispatchPolicySpec, RegionPreference
from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.workload import Workload

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
PATIENCE = timedelta(minutes=5)
KEY = Key("ns", "wl")


def evaluation(cluster, outlook=Outlook.FITS, **figures):
    return Evaluation(cluster, int(outlook), message=f"{outlook.name.lower()} there", **figures)


def choose(*evaluations, strategy="Fastest", **state):
    found = Candidates(KEY, tuple(evaluations), **state)
    return dispatch.decide(found, DispatchPolicySpec(strategy=strategy), NOW, PATIENCE)


def test_what_fits_comes_before_what_fits_after_preemption_before_what_waits():
    waits, preempts, fits = (
        evaluation("w", Outlook.WAITS),
        evaluation("p", Outlook.FITS_AFTER_PREEMPTION, lost_pod_seconds=9),
        evaluation("f"),
    )
    assert choose(waits, preempts, fits).cluster == "f"
    assert choose(waits, preempts).cluster == "p"
    assert choose(waits).cluster == "w"


def test_the_cheapest_preemption_and_the_shortest_wait_win():
    costly = evaluation("a", Outlook.FITS_AFTER_PREEMPTION, lost_pod_seconds=100)
    cheap = evaluation("b", Outlook.FITS_AFTER_PREEMPTION, lost_pod_seconds=10)
    assert choose(costly, cheap).cluster == "b"
    assert choose(evaluation("a", Outlook.WAITS, load=900), evaluation("b", Outlook.WAITS, load=300)).cluster == "b"


def test_what_is_written_anew_is_another_choice_or_another_obstacle_but_no_new_figure():
    def grounds(reason, message):
        return choose(Evaluation("a", int(Outlook.IMPOSSIBLE), reason, message)).grounds

    assert grounds("Cordoned", "cordoned") != grounds("TooLargeForNodes", "needs 9, largest 8")
    assert grounds("TooLargeForNodes", "needs 9, largest 7") == grounds("TooLargeForNodes", "needs 9, largest 8")
    assert choose(evaluation("w", Outlook.WAITS, load=1)).grounds == choose(evaluation("w", Outlook.WAITS)).grounds


@pytest.mark.parametrize(
    ("strategy", "winner"), [("Fastest", "roomy"), ("Pack", "tight"), ("Spread", "idle"), ("Cheapest", "cheap")]
)
def test_the_strategy_decides_among_equals(strategy, winner):
    found = [
        evaluation("roomy", free=900, load=500, price=5),
        evaluation("tight", free=10, load=600, price=5),
        evaluation("idle", free=500, load=1, price=5),
        evaluation("cheap", free=500, load=500, price=1),
    ]
    assert choose(*found, strategy=strategy).cluster == winner


def test_nearness_counts_before_the_score():
    found = [evaluation("far", free=900), evaluation("near", free=10)]
    assert choose(*found, preference={"far": 1, "near": 0}).cluster == "near"


def test_every_candidate_keeps_its_reason():
    decision = choose(evaluation("a", Outlook.IMPOSSIBLE), evaluation("b"))
    assert decision.message == "b: fits there; a: impossible there"


def test_a_refusal_leads_to_the_next_cluster():
    decision = choose(evaluation("a", free=9), evaluation("b"), current="a", refused={"a"})
    assert decision.cluster == "b"
    assert "a: fits there (said no to this workload)" in decision.message


def test_where_all_said_no_the_workload_stays():
    decision = choose(evaluation("a"), evaluation("b", free=9), current="a", refused={"a", "b"})
    assert decision.cluster == "a"


def test_a_waiting_workload_moves_only_to_where_it_starts_at_once():
    here, elsewhere = evaluation("here", Outlook.WAITS, load=900), evaluation("there", Outlook.WAITS, load=1)
    assert choose(here, elsewhere, current="here").cluster == "here"
    assert choose(here, evaluation("there"), current="here").cluster == "there"


def test_no_cluster_is_a_visible_state():
    decision = choose(evaluation("a", Outlook.IMPOSSIBLE))
    assert (decision.cluster, decision.reason) == ("", dispatch.NO_CLUSTER)


def test_full_nodes_hold_a_workload_back_for_a_round():
    full = evaluation("a", Outlook.WAITS_FOR_ROOM)
    assert choose(full).reason == dispatch.HELD
    assert choose(full, held_since=NOW - PATIENCE).cluster == "a"


# Who is dispatched at all


def test_a_reservation_that_no_node_may_ever_serve_is_not_asked_for():
    risky = evaluation("a", Outlook.MAY_NEVER_START)
    decision = choose(risky, held_since=NOW - 10 * PATIENCE)
    assert (decision.cluster, decision.reason) == ("", dispatch.HELD)
    assert choose(risky, evaluation("b", Outlook.UNKNOWN)).cluster == "b"


def test_only_a_workload_that_waits_for_this_check_alone_is_dispatched():
    assert dispatch.may_be_dispatched(Sight.of(checked("Pending")), "mk")
    assert not dispatch.may_be_dispatched(Sight.of(checked("Ready")), "mk")
    assert not dispatch.may_be_dispatched(Sight.of(checked("Pending", clusterName="a")), "mk")
    assert not dispatch.may_be_dispatched(Sight.of(checked("Pending", condition(names.EVICTED))), "mk")
    assert not dispatch.may_be_dispatched(Sight.of(workload(admissionChecks=[{"name": "mk"}])), "mk")


def test_another_check_comes_first():
    local = checked("Pending")
    local["status"]["admissionChecks"].append({"name": "other", "state": "Pending"})
    assert not dispatch.may_be_dispatched(Sight.of(local), "mk")


def test_a_worker_says_no_by_its_reason():
    waiting = workload(condition(names.QUOTA_RESERVED, names.WAITING_FOR_QUOTA, status="False"))
    refusing = workload(condition(names.QUOTA_RESERVED, names.EXCEEDS_MAX_QUOTA, status="False"))
    assert dispatch.refusal(Sight.of(waiting)) == ""
    assert dispatch.refusal(Sight.of(refusing)) == names.EXCEEDS_MAX_QUOTA
    assert dispatch.refusal(Sight.of(workload(spec={"active": False}))) == names.DEACTIVATED


def test_higher_priority_chooses_first():
    low, high = workload(QUOTA), workload(QUOTA, spec={"priority": 9})
    order = dispatch.priority_order([Sight.of(low), Sight.of(high)])
    assert [sight.view.spec.priority for sight in order] == [9, None]


# Which clusters are asked


def cluster(name, *, region="", **annotations):
    labels = {names.REGION_LABEL: region} if region else {}
    return MultiKueueCluster(metadata=ObjectMeta(name=name, labels=labels, annotations=annotations))


def asked(*clusters, connected=("a", "b"), policy=None, local=None):
    known = {found.metadata.name: found for found in clusters}
    return candidates.choose(["a", "b"], known, connected, policy or DispatchPolicySpec(), local or Workload())


def test_a_cluster_out_of_contact_is_not_asked():
    found = asked(cluster("a"), cluster("b"), connected=("b",))
    assert found.open == ("b",)
    assert found.closed[0].message == "the hub is not in contact with it"


def test_a_cordoned_cluster_takes_nothing_new():
    found = asked(cluster("a", **{names.CORDONED_ANNOTATION: "true"}), cluster("b"))
    assert (found.open, found.closed[0].reason) == (("b",), "Cordoned")


def test_regions_are_kept_out_and_preferred():
    policy = DispatchPolicySpec(regions=RegionPreference(allowed=["eu", "us"], preferred=["us"]))
    found = asked(cluster("a", region="eu"), cluster("b", region="us"), policy=policy)
    assert found.preference == {"a": 1, "b": 0}
    shut = DispatchPolicySpec(regions=RegionPreference(allowed=["us"]))
    assert asked(cluster("a", region="eu"), cluster("b", region="us"), policy=shut).open == ("b",)


def test_a_cluster_without_the_data_comes_last():
    policy = DispatchPolicySpec(data_locality_label="data")
    near = MultiKueueCluster(metadata=ObjectMeta(name="b", labels={"data": "set-1"}))
    local = Workload(metadata=ObjectMeta(labels={"data": "set-1"}))
    assert asked(cluster("a"), near, policy=policy, local=local).preference == {"a": candidates.DATA_IS_FAR, "b": 0}


@pytest.mark.parametrize(("weight", "winner"), [(0, "free"), (50, "free"), (100, "full")])
def test_a_waiting_workload_moves_only_for_as_much_better_as_the_policy_asks(weight, winner):
    waits, fits = evaluation("full", Outlook.WAITS, load=1200), evaluation("free", load=700)
    found = Candidates(KEY, (waits, fits), current="full")
    policy = DispatchPolicySpec(moving_weight=weight)
    assert dispatch.decide(found, policy, NOW, PATIENCE).cluster == winner


def test_a_copy_that_cannot_start_moves_whatever_the_weight():
    found = Candidates(KEY, (evaluation("gone", Outlook.IMPOSSIBLE), evaluation("free", load=9000)), current="gone")
    assert dispatch.decide(found, DispatchPolicySpec(moving_weight=900), NOW, PATIENCE).cluster == "free"


def test_victims_are_taken_in_one_cluster_only():
    found = [
        evaluation(name, Outlook.FITS_AFTER_PREEMPTION, victims=1, lost_pod_seconds=lost, provisions=True)
        for name, lost in (("a", 5), ("b", 9))
    ]
    decision = dispatch.decide(
        Candidates(KEY, tuple(found)), DispatchPolicySpec(provisioning_clusters=2), NOW, PATIENCE
    )
    assert decision.clusters == ("a",)


def test_a_workload_that_every_cluster_refuses_says_so():
    decision = choose(evaluation("a"), evaluation("b", Outlook.IMPOSSIBLE), refused={"a"}, current="a")
    assert (decision.cluster, decision.reason) == ("a", "RefusedByAll")
    assert decision.message == "a: fits there (said no to this workload); b: impossible there"


def test_one_cluster_that_has_not_refused_is_enough():
    decision = choose(evaluation("a"), evaluation("b", Outlook.WAITS), refused={"a"})
    assert (decision.cluster, decision.reason) == ("b", "Nominated")

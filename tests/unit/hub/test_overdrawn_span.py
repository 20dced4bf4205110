"""Who gives quota back where the tenants of a spanning cohort hold more than its workers leave to them."""

from datetime import UTC, datetime

import msgspec
import pytest

from hub.engine import cohort_span, overdrawn_span
from hub.engine.overdrawn_span import Waiting
from tests.builders import cluster_queue, cohort, quota
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.meta import Key
from worker_agent.api.workload import AdmissionCheckState, Workload

CPU = ("default", "cpu")
CHECKS = [AdmissionCheckState(name="mk", state="Pending")]


def tenant(name, *, nominal=0, weight=1, cohort="all"):
    document = cluster_queue(name, cpu=nominal, cohort=cohort, fairSharing={"weight": weight})
    return msgspec.convert(document, ClusterQueue, strict=False)


def team(name, nominal, **spec):
    return msgspec.convert(cohort(name, {"default": {"cpu": quota(nominal)}}, **spec), Cohort, strict=False)


def tree(nominal, held, *tenants, cohorts=()):
    """``held``: cpus in use, by tenant."""
    return cohort_span.tree(
        tenants, (team("all", nominal), *cohorts), lambda each: {CPU: held.get(each.metadata.name, 0) * 1000}
    )


def waiting(name, queue="a", *, cpu=1, priority=0, since=0.0):
    return Waiting(Key("ns", name), queue, {CPU: cpu * 1000}, priority, since)


def gives(world, *candidates):
    return [each.key.name for each in overdrawn_span.give_back(world, "all", candidates)]


def test_nobody_gives_where_there_is_as_much_as_is_held():
    assert gives(tree(4, {"a": 4}, tenant("a")), waiting("w")) == []


def test_no_more_than_is_missing_comes_back_the_newest_first():
    candidates = [waiting("oldest"), waiting("older", since=1.0), waiting("newest", since=2.0)]
    assert gives(tree(3, {"a": 5}, tenant("a")), *candidates) == ["newest", "older"]


def test_the_least_important_gives_first():
    assert gives(tree(3, {"a": 4}, tenant("a")), waiting("low", priority=-1), waiting("new", since=9.0)) == ["low"]


def test_the_tenant_with_the_largest_share_gives_first():
    world = tree(10, {"a": 8, "b": 4}, tenant("a", weight=4), tenant("b"))
    candidates = [waiting(f"a{n}") for n in range(8)] + [waiting(f"b{n}", "b") for n in range(4)]
    assert [name[0] for name in gives(world, *candidates)] == ["b", "b"]


def test_running_work_gives_nothing():
    assert gives(tree(1, {"a": 3, "b": 1}, tenant("a"), tenant("b")), waiting("w", "b")) == ["w"]


def test_nominal_quota_of_a_tenant_is_its_own():
    assert gives(tree(0, {"a": 2, "b": 2}, tenant("a"), tenant("b", nominal=2)), waiting("w", "b")) == []


def test_what_uses_none_of_it_keeps_its_quota():
    other = Waiting(Key("ns", "other"), "a", {("default", "memory"): 1}, -5)
    assert gives(tree(1, {"a": 2}, tenant("a")), other, waiting("w")) == ["w"]


def test_tenants_in_a_team_give_by_the_share_of_the_team():
    world = tree(3, {"a": 3, "b": 2}, tenant("a", cohort="team"), tenant("b"), cohorts=[team("team", 0, parent="all")])
    assert gives(world, waiting("a"), waiting("a2"), waiting("b", "b")) == ["a", "a2"][::-1]


def test_what_can_be_borrowed_of_a_parent_is_not_held_too_much():
    spanning = team("all", 2, parent="company")
    world = cohort_span.tree([tenant("a")], [team("company", 2), spanning], lambda each: {CPU: 5000})
    assert gives(world, waiting("w"), waiting("v")) == ["w"]


def test_quota_that_comes_back_anyway_is_not_missing():
    world = tree(3, {"a": 5}, tenant("a"))
    overdrawn_span.without(world, [("a", {CPU: 2000}), ("gone", {CPU: 1000})])
    assert gives(world, waiting("w")) == []


def workload(*conditions, state="Pending", **status):
    true = [
        {"type": each, "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for each in conditions
    ]
    admission = {
        "clusterQueue": "a",
        "podSetAssignments": [{"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "2"}}],
    }
    return msgspec.convert(
        {
            "metadata": {"namespace": "ns", "name": "w"},
            "spec": {"priority": 7},
            "status": {"conditions": true, "admission": admission, **status},
        },
        Workload,
        strict=False,
    )


def test_who_holds_quota_and_has_no_cluster_waits():
    found = workload("QuotaReserved")
    assert overdrawn_span.waits(found, CHECKS)
    since = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert overdrawn_span.waiting(found) == Waiting(Key("ns", "w"), "a", {CPU: 2000}, 7, since)


@pytest.mark.parametrize(
    "found",
    [
        workload(),
        workload("QuotaReserved", "Admitted"),
        workload("QuotaReserved", "Evicted"),
        workload("QuotaReserved", "Finished"),
        workload("QuotaReserved", clusterName="east"),
    ],
    ids=["no quota", "admitted", "evicted", "finished", "has a cluster"],
)
def test_who_does_not_wait_is_left_alone(found):
    assert not overdrawn_span.waits(found, CHECKS)


@pytest.mark.parametrize("state", ["Ready", "Retry", "Rejected"])
def test_whose_check_is_decided_is_left_alone(state):
    assert not overdrawn_span.waits(workload("QuotaReserved"), [AdmissionCheckState(name="mk", state=state)])

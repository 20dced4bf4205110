"""Admission fair sharing: what fades, what is charged, and who goes first."""

import math

import pytest

from tests.builders import cluster_queue, flavor, local_queue, namespace, workload
from tests.engine_world import EngineWorld
from worker_agent.api.meta import Key
from worker_agent.engine import policy, usage_history
from worker_agent.engine.usage_history import UsageHistory
from worker_agent.engine.usage_history_rules import UsageRules, read_usage_rules

A, B, W = Key("ns", "a"), Key("ns", "b"), Key("ns", "w")
CORE = 10**9
MINUTE = 60_000_000


def history(**rules):
    return UsageHistory(UsageRules(**{"half_life": 600.0, "sampling_interval": 300.0, **rules}))


def test_an_admission_is_charged_what_it_will_use_until_the_next_sample():
    """Example 26."""
    ledgers = history()
    ledgers.charge(A, W, {"cpu": 4000})
    assert ledgers.ledger(A).penalties[W] == {"cpu": 1_171_572_875}
    ledgers.charge(A, W, {"cpu": 2000})
    assert ledgers.ledger(A).penalties[W] == {"cpu": 585_786_437}


@pytest.mark.parametrize(("in_use", "expected"), [({}, 4), ({"cpu": 4 * CORE}, 6)])
def test_half_of_it_fades_in_the_half_life(in_use, expected):
    ledgers = history()
    ledgers.seed(A, {"cpu": 8 * CORE}, 0)
    ledgers.sample(A, in_use, 10 * MINUTE)
    assert ledgers.ledger(A).consumed == {"cpu": expected * CORE}


def test_amounts_are_cut_to_a_billionth():
    ledgers = history()
    ledgers.seed(A, {"gpu": 8 * CORE}, 0)
    ledgers.sample(A, {"gpu": 4 * CORE}, 5 * MINUTE)
    assert ledgers.ledger(A).consumed == {"gpu": 6_828_427_124}


def test_without_half_life_nothing_is_remembered():
    ledgers = history(half_life=0.0)
    ledgers.seed(A, {"cpu": 8 * CORE}, 0)
    ledgers.sample(A, {"cpu": CORE}, MINUTE)
    assert ledgers.ledger(A).consumed == {}


def test_settling_turns_the_penalty_into_usage_once():
    ledgers = history()
    ledgers.seed(A, {}, 0)
    ledgers.charge(A, W, {"cpu": 4000})
    ledgers.settle(A, W, {"cpu": 4 * CORE}, 0)
    assert ledgers.ledger(A).consumed == {"cpu": 1_171_572_875}
    assert not ledgers.owes(A, W)


@pytest.mark.parametrize(
    ("weights", "weight", "expected"),
    [({"cpu": 1, "x": 5}, 1, 14), ({"cpu": 0}, 1, 2), ({}, 2, 3), ({}, 0, math.inf)],
)
def test_value_is_weighted_usage_over_the_queues_weight(weights, weight, expected):
    ledgers = history(weights=weights)
    ledgers.seed(A, {"cpu": 4 * CORE, "x": 2 * CORE}, 0)
    assert ledgers.value(A, weight) == expected


def test_durations_are_read_as_go_prints_them():
    rules = read_usage_rules({"usageHalfLifeTime": "1h30m", "usageSamplingInterval": 60, "resourceWeights": {"x": 2}})
    assert rules == UsageRules(5400.0, 60.0, {"x": 2.0})


def test_memory_counts_in_bytes():
    assert usage_history.of_requests({"cpu": 1500, "memory": 3}) == {"cpu": 1_500_000_000, "memory": 3_000_000_000}


def shared(*local_queues, seeded=(), cpu=9, mode="UsageBasedAdmissionFairSharing"):
    """One ClusterQueue by usage, with LocalQueues a and b."""
    rules = policy.resolve({}, {"admissionFairSharing": {"usageHalfLifeTime": "10m", "usageSamplingInterval": "5m"}})
    queues = local_queues or (local_queue("a"), local_queue("b"))
    scope = {"admissionMode": mode}
    made = EngineWorld([namespace(), flavor(), cluster_queue("q", cpu=cpu, admissionScope=scope), *queues], rules)
    for key, cores in seeded:
        made.state.usage_book.history.seed(key, {"cpu": cores * CORE}, int(made.now.timestamp() * 1e6))
    return made


def admissions(made):
    found = []
    while steps := made.cycle().admissions:
        found += [step.key.name for step in steps]
    return found


def test_who_used_little_goes_before_who_matters_more():
    made = shared(seeded=[(A, 8), (B, 2)], cpu=2)
    made.put(workload("from-a", queue="a", cpu=2, priority=9), workload("from-b", queue="b", cpu=2))
    assert admissions(made) == ["from-b"]


def test_every_admission_weighs_at_once():
    made = shared(seeded=[(A, 0), (B, 0)], cpu=3)
    created = [f"2026-01-01T10:00:0{i}Z" for i in range(4)]
    made.put(*(workload(f"a{i}", queue="a", created=created[i]) for i in range(2)))
    made.put(*(workload(f"b{i}", queue="b", created=created[2 + i]) for i in range(2)))
    assert admissions(made) == ["a0", "b0", "a1"]


def test_a_queue_without_the_mode_ignores_usage():
    made = shared(seeded=[(A, 8), (B, 2)], cpu=2, mode="NoAdmissionFairSharing")
    made.put(workload("from-a", queue="a", cpu=2, priority=9), workload("from-b", queue="b", cpu=2))
    assert admissions(made) == ["from-a"]


def test_usage_is_taken_up_from_the_status_after_a_restart():
    status = {"consumedResources": {"cpu": "8"}, "lastUpdate": "2026-01-01T12:00:00Z"}
    heavy = local_queue("a") | {"status": {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": status}}}
    made = shared(heavy, local_queue("b"), cpu=2)
    made.put(workload("from-a", queue="a", cpu=2, priority=9), workload("from-b", queue="b", cpu=2))
    assert admissions(made) == ["from-b"]


def test_a_failed_admission_costs_nothing():
    made = shared(seeded=[(A, 0), (B, 0)])
    made.put(workload("w", queue="a", cpu=2))
    made.decide()
    assert made.state.usage_book.usage(A) > 0
    made.state.forget(W, made.now)
    assert made.state.usage_book.usage(A) == 0


def test_running_workloads_add_to_usage_with_time():
    made = shared(seeded=[(A, 0), (B, 0)])
    made.put(workload("w", queue="a", cpu=4))
    made.cycle()
    before = made.state.usage_book.usage(A)
    made.advance(600)
    made.put(workload("next", queue="b"))
    made.cycle()
    assert made.state.usage_book.usage(A) > before

"""A small share of the races, each kind in at least one; ``scripts/test races --seeds 200`` runs as many as wanted."""

import logging

import pytest

from tests.races import race, script
from tests.races.model import Model
from tests.races.subjects import SUBJECTS, value_at, with_value
from worker_agent.api.document import Document

SEEDS = range(14, 22)


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_race_leaks_quota_or_loses_a_wish(seed):
    outcome = race.attempt(seed)
    assert not outcome.violations, str(outcome)


@pytest.mark.parametrize(("seed", "label"), [(5, "Pod group"), (54, "LeaderWorkerSet"), (126, "StatefulSet")])
def test_one_made_anew_or_scaled_from_zero_at_once_gets_ready(seed, label):
    outcome = race.attempt(seed, (label,))
    assert not outcome.violations, str(outcome)


def test_pods_of_a_deleted_group_stay_while_its_workload_does(monkeypatch):
    async def nobody_deletes_it(self, wish):
        """As who deletes the pods alone."""

    monkeypatch.setattr(race.Race, "_end_group", nobody_deletes_it)
    held = race.attempt(5, ("Pod group",)).violations["cluster"]
    assert "2000 milli-cpu are reserved (group-race: 2000) for pods that ask for 0 ()" in held


def test_a_few_seeds_race_every_kind():
    assert {label for seed in SEEDS for label in script.write(seed).subjects} == set(SUBJECTS)


def test_a_seed_always_writes_the_same_script():
    assert str(script.write(7)) == str(script.write(7)) != str(script.write(8))


@pytest.mark.parametrize("label", sorted(SUBJECTS))
def test_pointers_lead_into_the_object(label):
    subject = SUBJECTS[label]
    (document, *_) = subject.documents(6)
    for pointer, value in ((subject.image, "other"), (subject.scale, 3)):
        if pointer:
            assert value_at(with_value(document, pointer, value), pointer) == value


def workload(name: str, owner: str = "job", **conditions: str) -> Document:
    told = [{"type": type_, "status": status} for type_, status in conditions.items()]
    assignments = [{"name": "main", "resourceUsage": {"cpu": "3"}}]
    return {
        "metadata": {"name": name, "ownerReferences": [{"uid": owner, "controller": True}]},
        "spec": {},
        "status": {"conditions": told, "admission": {"podSetAssignments": assignments}},
    }


def test_the_model_sees_quota_taken_twice_for_one_job():
    model = Model(10_000)
    model.observe(None, workload("a", QuotaReserved="True"), 1.0)
    model.observe(None, workload("b", QuotaReserved="True"), 2.0)
    assert model.violations == ["2.000 one job holds quota through a and b"]


def test_the_model_sees_more_reserved_than_there_is():
    model = Model(5_000)
    model.observe(None, workload("a", QuotaReserved="True"), 1.0)
    model.observe(None, workload("b", "other", QuotaReserved="True"), 2.0)
    assert model.violations == ["2.000 6000 of 5000 milli-cpu are reserved"]


def test_the_model_allows_one_workload_after_the_other():
    model = Model(5_000)
    model.observe(None, workload("a", QuotaReserved="True"), 1.0)
    model.observe(workload("a", QuotaReserved="True"), None, 2.0)
    model.observe(None, workload("b", QuotaReserved="True"), 3.0)
    assert model.violations == []

"""A small share of the histories; ``python -m tests.faults --histories 10000`` runs as many as wanted."""

import pytest

from tests import cluster_choice
from tests.faults import forked, history, script, served
from tests.faults.model import Model
from tests.faults.sizes import Size

HISTORIES = 40


@pytest.mark.timeout(600)
def test_no_history_breaks_a_promise():
    outcomes = list(forked.outcomes(range(HISTORIES), processes=2))
    assert len(outcomes) == HISTORIES
    broken = [str(outcome) for outcome in outcomes if outcome.violations]
    assert not broken, "\n".join(broken)


@pytest.mark.timeout(600)
def test_no_history_over_http_breaks_a_promise():
    outcomes = list(
        served.outcomes([script.write(seed) for seed in range(2)], cluster_choice.EMBEDDED, processes=2, together=1)
    )
    broken = [str(outcome) for outcome in outcomes if outcome.violations]
    assert len(outcomes) == 2
    assert not broken, "\n".join(broken)


@pytest.mark.timeout(120)
def test_a_forked_history_ends_as_one_of_its_own_process():
    (forked_one,) = forked.outcomes([7], size=Size.LARGE)
    alone = history.attempt(script.write(7))
    assert (forked_one.violations, forked_one.counts["jobs"]) == (alone.violations, alone.counts["jobs"])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [110158])
def test_large_histories_that_once_broke_a_promise_keep_it(seed: int):
    (outcome,) = forked.outcomes([seed], size=Size.LARGE)
    assert not outcome.violations, str(outcome)


def test_most_histories_hold_several_jobs_a_fault_and_a_restart():
    scripts = [script.write(seed) for seed in range(200)]
    acts = [[step.act for step in each.steps] for each in scripts]
    assert min(each.count(script.Act.SUBMIT) for each in acts) >= 2
    assert all(script.FAULTS & set(each) for each in acts)
    assert sum(bool(script.RESTARTS & set(each)) for each in acts) > 0.8 * len(acts)


def test_a_seed_always_writes_the_same_script():
    assert str(script.write(7)) == str(script.write(7)) != str(script.write(8))


def job(*, suspended=False, done=False):
    conditions = [{"type": "Complete", "status": "True"}] if done else []
    labels = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
    metadata = {"name": "train", "namespace": "ns", "labels": labels}
    return {"metadata": metadata, "spec": {"suspend": suspended}, "status": {"conditions": conditions}}


def test_the_model_sees_a_job_that_runs_twice():
    model = Model({})
    model.observe("w1", "jobs", None, job(), 1.0)
    model.observe("w2", "jobs", None, job(), 2.0)
    assert model.violations == ["2.000 job train runs on w1 and w2"]


def test_the_model_allows_a_job_to_move():
    model = Model({})
    model.observe("w1", "jobs", None, job(), 1.0)
    model.observe("w1", "jobs", job(), job(suspended=True), 2.0)
    model.observe("w2", "jobs", None, job(), 3.0)
    assert model.violations == []


def test_the_model_sees_the_deletion_of_what_is_not_ours():
    foreign = job()
    foreign["metadata"]["labels"] = {}
    model = Model({})
    model.observe("w1", "jobs", foreign, None, 1.0)
    assert "not ours" in model.violations[0]


def test_the_model_misses_a_job_that_is_lost():
    assert Model({}).rest({"train": None}, {}) == ["job train is lost"]

"""A small share of the histories; ``python -m tests.faults --histories 10000`` runs as many as wanted."""

import logging

import pytest

from tests.faults import history, script
from tests.faults.model import Model

HISTORIES = 40
BATCH = 10


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, HISTORIES, BATCH))
def test_no_history_breaks_a_promise(first):
    logging.disable(logging.CRITICAL)
    try:
        outcomes = [history.attempt(seed) for seed in range(first, first + BATCH)]
    finally:
        logging.disable(logging.NOTSET)
    broken = [str(outcome) for outcome in outcomes if outcome.violations]
    assert not broken, "\n".join(broken)


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

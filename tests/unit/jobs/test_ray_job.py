"""How a RayJob stands, by every word that its operator has for it."""

import pytest

from worker_agent.jobs import KINDS

KIND = KINDS["ray.io/rayjob"]


def told(deployment, job=""):
    return {"status": {"jobDeploymentStatus": deployment, "jobStatus": job}}


@pytest.mark.parametrize("word", ["Initializing", "Running", "Retrying", "Suspending", "AWordOfTheFuture"])
def test_job_under_way_keeps_its_quota(word):
    assert KIND.finished(told(word)) is None
    assert KIND.is_active(told(word))


@pytest.mark.parametrize(("word", "job", "success"), [("Complete", "SUCCEEDED", True), ("Failed", "FAILED", False)])
def test_ended_job_is_finished(word, job, success):
    assert KIND.finished(told(word, job)).success is success


def test_job_that_its_operator_refuses_takes_no_quota():
    assert KIND.on_hold(told("ValidationFailed"))

"""Jobs that a hub sends run from the beginning where their Workload is admitted, and are held in every other case."""

import pytest

from tests.unit.jobs.builders import KIND, POLICY, condition, flavor, job, workload
from worker_agent.api import names
from worker_agent.api.document import at, put
from worker_agent.engine import start_at_creation
from worker_agent.jobs import KINDS

ORIGIN = {names.MULTIKUEUE_ORIGIN_LABEL: "hub"}
ADMITTED = (condition("QuotaReserved"), condition("Admitted"))
ADMISSION = {
    "clusterQueue": "cq",
    "podSetAssignments": [{"name": "main", "count": 1, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "1"}}],
}
SPOT = {"spot": flavor("spot", nodeLabels={"tier": "spot"})}


def sent(**changes):
    return job(labels=ORIGIN, **changes)


def copy(*conditions, of=None):
    made = workload(of or sent(), *conditions, name="job-train-0a1b2", admission=ADMISSION)
    made = put(made, ("metadata", "ownerReferences"), None)
    return put(made, ("metadata", "labels"), ORIGIN)


def test_job_of_an_admitted_copy_runs_with_what_the_admission_gives_it():
    assert start_at_creation.may_start(KIND, sent(), copy(*ADMITTED), POLICY)
    found = start_at_creation.started(KIND, sent(), copy(*ADMITTED), SPOT, POLICY)
    assert found["spec"]["suspend"] is False
    assert at(found, ("spec", "template", "spec", "nodeSelector"), {}) == {"tier": "spot"}


@pytest.mark.parametrize(
    "held",
    [
        copy(condition("QuotaReserved")),
        copy(*ADMITTED, condition("Evicted")),
        copy(*ADMITTED, condition("Finished")),
        copy(*ADMITTED, condition("DeactivationTarget")),
        put(copy(*ADMITTED), ("spec", "active"), False),
        put(copy(*ADMITTED), ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z"),
        put(copy(*ADMITTED), ("metadata", "labels"), {names.MULTIKUEUE_ORIGIN_LABEL: "another hub"}),
        put(copy(*ADMITTED), ("metadata", "ownerReferences"), [{"name": "other", "controller": True}]),
        None,
    ],
)
def test_job_whose_copy_may_not_run_is_held(held):
    assert not start_at_creation.may_start(KIND, sent(), held, POLICY)


@pytest.mark.parametrize("other", ["other", "tra", "train-0a1b2", "rain", ""])
def test_of_two_jobs_that_name_one_copy_only_its_own_starts(other):
    forged = sent(name=other)
    assert start_at_creation.may_start(KIND, sent(), copy(*ADMITTED), POLICY)
    assert not start_at_creation.may_start(KIND, forged, copy(*ADMITTED), POLICY)


def test_job_that_no_hub_sent_is_held():
    assert not start_at_creation.may_start(KIND, job(), copy(*ADMITTED), POLICY)


def test_job_that_differs_from_its_copy_is_held():
    larger = sent(parallelism=3)
    assert start_at_creation.started(KIND, larger, copy(*ADMITTED), SPOT, POLICY) is larger


def test_job_whose_flavor_is_not_known_yet_is_held():
    new = sent()
    assert start_at_creation.started(KIND, new, copy(*ADMITTED), {}, POLICY) is new


def test_kinds_of_several_objects_or_with_companions_start_later():
    assert not any(
        kind.starts_at_creation
        for kind in KINDS.values()
        if kind.composable or kind.serving or kind.companion_resources or kind.top_level
    )

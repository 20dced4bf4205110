"""A worker that was lost comes back with the end of a run, while the job runs elsewhere."""

from hub.engine import sync
from tests.unit.hub.found_intents import of
from tests.unit.hub.groups import NOW, QUOTA, checked, condition, copy, group, holding, job
from worker_agent.api import names
from worker_agent.engine.intents import ApplyStatus, DeleteObject

ADMITTED = condition(names.ADMITTED)
FINISHED = condition(names.FINISHED, "Succeeded")
COMPLETE = condition("Complete", "CompletionsReached")
FIRST, SECOND = "2026-01-31T10:00:00Z", "2026-01-31T11:30:00Z"


def decided(*, told: str, second_run: tuple = (QUOTA, ADMITTED)) -> list:
    ended = [COMPLETE] if FINISHED in second_run else []
    jobs = {
        "w1": job(suspend=False, origin="multikueue", startTime=FIRST, conditions=[COMPLETE]),
        "w2": job(suspend=False, origin="multikueue", startTime=SECOND, conditions=ended),
    }
    copies = {"w1": copy(QUOTA, ADMITTED, FINISHED), "w2": copy(*second_run)}
    remotes = {name: holding(copies[name], jobs[name]) for name in jobs}
    local = checked("Ready", ADMITTED, clusterName="w2")
    running = job(suspend=False, **({"startTime": told} if told else {}))
    return sync.decide(group(local, remotes, local_job=running), NOW)


def finishes(intents: list) -> bool:
    return any(c.type == names.FINISHED for write in of(ApplyStatus, intents) for c in write.conditions)


def test_an_end_that_the_job_cannot_tell_of_any_more_is_removed_and_the_later_run_goes_on():
    intents = decided(told=SECOND)
    assert not finishes(intents)
    assert {removed.cluster for removed in of(DeleteObject, intents)} == {"w1"}


def test_the_later_runs_own_end_is_the_jobs():
    assert finishes(decided(told=SECOND, second_run=(QUOTA, ADMITTED, FINISHED)))


def test_an_end_that_comes_before_the_later_run_has_started_is_the_jobs():
    assert finishes(decided(told=""))

"""A worker that was lost comes back with the end of a run, while the job runs elsewhere."""

from datetime import timedelta

from hub.engine import sync
from tests.unit.hub.found_intents import of, one
from tests.unit.hub.groups import NOW, QUOTA, checked, condition, copy, group, holding, job
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.engine.intents import ApplyStatus, DeleteObject, PatchObject

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


def test_pods_that_stop_are_told_of_by_the_chosen_cluster_though_another_copy_seems_to_be_evicted_earlier():
    early = condition(names.EVICTED, at=NOW - timedelta(hours=1))
    stopped = job(suspend=True, origin="multikueue", active=0)
    remotes = {"w1": holding(copy(early)), "w2": holding(copy(condition(names.EVICTED)), stopped)}
    local = checked("Pending", condition(names.EVICTED), clusterName="w2")
    intents = sync.decide(group(local, remotes, local_job=job(suspend=True, active=1, startTime=FIRST)), NOW)
    assert value_at(one(PatchObject, intents).after, "status.active", 0) == 0


def test_a_copy_that_ended_with_the_job_of_an_earlier_one_is_made_anew():
    ended = copy(condition(names.FINISHED, names.OWNER_NOT_FOUND))
    local = checked("Pending", nominatedClusterNames=["w1"])
    intents = sync.decide(group(local, {"w1": holding(ended)}, local_job=job()), NOW)
    assert one(DeleteObject, intents).cluster == "w1"

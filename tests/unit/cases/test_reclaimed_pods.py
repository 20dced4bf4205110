"""B49, in the job's controller: a job that wants pods again that it had given back queues anew for all of them."""

from tests.unit.jobs.builders import admitted, condition, conditions, decide, events, job, of_type, view, workload
from worker_agent.engine.intents import ApplyStatus

GIVEN_BACK = [{"name": "main", "count": 2}]


def restarted(active, *more):
    """Three pods wanted again, of which two had been done."""
    running = job(suspend=False, parallelism=3, status={"active": active})
    told = admitted(job(parallelism=3), *more, count=3, reclaimablePods=GIVEN_BACK)
    return decide(view(running, told))


def test_the_workload_is_evicted_and_no_count_is_taken_back_while_quota_is_reserved():
    intents = restarted(3)
    assert conditions(intents)["Evicted"][:2] == ("True", "ReclaimedPodsReturned")
    assert not any("reclaimablePods" in intent.fields for intent in of_type(intents, ApplyStatus))
    assert ("EvictedDueToReclaimedPodsReturned", "The job wants pods again whose quota was given back") in events(
        intents
    )


def test_its_quota_goes_back_once_its_pods_have_stopped_and_it_queues_at_once():
    written = conditions(restarted(0, condition("Evicted", reason="ReclaimedPodsReturned", message="m")))
    assert written["QuotaReserved"][0] == "False"
    assert written["Requeued"][:2] == ("True", "ReclaimedPodsReturned")


def test_the_count_is_corrected_while_it_waits():
    waiting = workload(job(parallelism=3), count=3)
    waiting["status"] = {**waiting.get("status", {}), "reclaimablePods": GIVEN_BACK}
    intents = decide(view(job(parallelism=3), waiting))
    assert {"reclaimablePods": []} in [intent.fields for intent in of_type(intents, ApplyStatus)]

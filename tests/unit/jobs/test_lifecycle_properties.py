"""What holds for a job in any state it may be found in."""

from hypothesis import given
from hypothesis import strategies as st

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_lifecycle, workload_status
from worker_agent.engine.intents import RetryWithError
from worker_agent.engine.job_view import WRITES, JobView

from .builders import EARLIER, KIND, NOW, admission, condition, job, view, workload

STATUSES = st.sampled_from(["True", "False", None])
JOB_STATUSES = st.sampled_from(
    [
        {},
        {"active": 2, "startTime": EARLIER},
        {"active": 1, "ready": 1, "succeeded": 1, "startTime": EARLIER},
        {"succeeded": 2, "conditions": [{"type": "Complete", "status": "True", "message": "done"}]},
        {"failed": 1, "conditions": [{"type": "Failed", "status": "True", "message": "broken"}]},
    ]
)
TYPES = ("QuotaReserved", "Admitted", "Evicted", "Finished", "PodsReady", "Requeued")
REASONS = st.sampled_from(["Preempted", "PodsReadyTimeout", "DeactivatedDueToRequeuingLimitExceeded", "Deactivated"])


@st.composite
def jobs(draw: st.DrawFn) -> Document:
    annotations = {}
    if draw(st.booleans()):
        annotations[names.JOB_MIN_PARALLELISM_ANNOTATION] = "1"
    if draw(st.integers(0, 5)) == 0:
        annotations[names.STOPPING_ANNOTATION] = "true"
    metadata = {"deletionTimestamp": EARLIER, "finalizers": ["user"]} if draw(st.integers(0, 9)) == 0 else {}
    return job(
        parallelism=draw(st.integers(1, 3)),
        suspend=draw(st.booleans()),
        annotations=annotations,
        status=draw(JOB_STATUSES),
        metadata=metadata,
    )


@st.composite
def workloads(draw: st.DrawFn, name: str) -> Document:
    found = {type_: draw(STATUSES) for type_ in TYPES}
    conditions = [condition(t, s, reason=draw(REASONS), message="m") for t, s in found.items() if s is not None]
    size = draw(st.integers(1, 3))
    status = {"admission": admission(size)} if found["QuotaReserved"] == "True" else {}
    made = workload(job(parallelism=size), *conditions, name=name, **status)
    if draw(st.integers(0, 9)) == 0:
        made = put(made, ("metadata", "deletionTimestamp"), EARLIER)
    return put(made, ("spec", "active"), draw(st.sampled_from([None, False])))


@st.composite
def views(draw: st.DrawFn) -> JobView:
    found = [draw(workloads(name)) for name in draw(st.sampled_from([(), ("a",), ("a",), ("a", "b")]))]
    policy = JobPolicy(wait_for_pods_ready=draw(st.booleans()), reclaimable_pods=draw(st.booleans()))
    return view(draw(st.none() | jobs()), *found, policy=policy)


@given(views())
def test_decisions_come_to_rest(seen):
    for _ in range(4):
        intents = job_lifecycle.decide_to_rest(seen, NOW)
        if not any(isinstance(intent, WRITES) for intent in intents):
            return
        seen = seen.after(intents, NOW)
    raise AssertionError(f"still writing: {intents}")


@given(views())
def test_only_an_admitted_job_is_started(seen):
    after = seen.after(job_lifecycle.decide(seen, NOW), NOW)
    started = seen.job is not None and after.job is not None
    if started and KIND.is_suspended(seen.job) and not KIND.is_suspended(after.job):
        admitted = [w for w in seen.workloads if workload_status.is_true(w, "Admitted")]
        assert admitted
        assert not any(workload_status.is_true(w, "Finished") for w in admitted)


@given(views())
def test_quota_is_kept_while_pods_run(seen):
    if seen.job is None or not KIND.is_active(seen.job):
        return
    after = {w["metadata"]["name"]: w for w in seen.after(job_lifecycle.decide(seen, NOW), NOW).workloads}
    for workload_ in seen.workloads:
        if workload_status.is_true(workload_, "Evicted") and workload_["metadata"]["name"] in after:
            left = after[workload_["metadata"]["name"]]
            if workload_status.is_true(workload_, "QuotaReserved"):
                assert workload_status.is_true(left, "QuotaReserved")


@given(views())
def test_a_retry_comes_last_and_once(seen):
    intents = job_lifecycle.decide(seen, NOW)
    assert [isinstance(i, RetryWithError) for i in intents].count(True) == any(
        isinstance(i, RetryWithError) for i in intents[-1:]
    )


@given(views())
def test_the_same_view_gives_the_same_decision(seen):
    assert job_lifecycle.decide(seen, NOW) == job_lifecycle.decide(seen, NOW)

"""What every registered kind must keep, shown on its sample: nothing here names a kind."""

import copy
import json
from dataclasses import replace

import pytest

from worker_agent.api import companions, names
from worker_agent.api.document import Document, put
from worker_agent.api.frameworks import FRAMEWORKS
from worker_agent.api.job_kind import JobKind, prebuilt_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.engine import intent_effects, job_lifecycle, job_matching, job_pod_sets, job_workload
from worker_agent.engine.intents import CreateObject, Intent
from worker_agent.engine.job_view import WRITES, JobView
from worker_agent.engine.job_workload import PriorityClasses
from worker_agent.jobs import KINDS

from .builders import NOW, condition, flavor
from .samples import SAMPLES, Sample

POLICY = JobPolicy(frameworks=frozenset(KINDS), wait_for_pods_ready=False)
FLAVORS = {"spot": flavor(nodeLabels={"tier": "spot"}, tolerations=[{"key": "spot", "operator": "Exists"}])}


@pytest.fixture(params=sorted(SAMPLES), ids=lambda framework: framework.replace("/", "-"))
def kind(request: pytest.FixtureRequest) -> JobKind:
    return KINDS[request.param]


@pytest.fixture
def sample(kind: JobKind) -> Sample:
    found = copy.deepcopy(SAMPLES[kind.framework])
    return replace(found, job=joined(kind, found.job))


def told(kind: JobKind, job: Document, status: Document) -> Document:
    """The job as its controller tells of it."""
    child = SAMPLES[kind.framework].child
    if child is None:
        return {**job, "status": status}
    made = {**child, "status": status}
    return companions.joined(job, kind.companions(job), lambda it: made if it.resource.kind == made["kind"] else None)


def joined(kind: JobKind, job: Document) -> Document:
    """The job with what its pods follow from."""
    companion = SAMPLES[kind.framework].companion
    return companions.joined(job, kind.companions(job), lambda wanted: companion)


def workload_of(kind: JobKind, job: Document) -> Document:
    return job_workload.build(kind, job, PriorityClasses({}, {}), POLICY)


def admitted(kind: JobKind, job: Document) -> Document:
    workload = workload_of(kind, job)
    assignments = [
        {"name": pod_set["name"], "count": pod_set["count"], "flavors": {"cpu": "spot"}}
        for pod_set in workload["spec"]["podSets"]
    ]
    admission = {"clusterQueue": "cq", "podSetAssignments": assignments}
    return {
        **workload,
        "status": {"admission": admission, "conditions": [condition("QuotaReserved"), condition("Admitted")]},
    }


def started(kind: JobKind, job: Document) -> Document:
    return kind.start(job, job_pod_sets.infos_of_admission(admitted(kind, job), FLAVORS, POLICY), POLICY)


def stopped(kind: JobKind, job: Document, workload: Document) -> Document:
    """The job after all writes of a stop, taken up again once its pods are gone where it has to wait for them."""
    stop = kind.stop(job, job_pod_sets.infos_of_spec(workload))
    job = stop.steps[-1].document if stop.steps else job
    return stopped(kind, {**job, "status": {}}, workload) if stop.error else job


def view(kind: JobKind, job: Document | None, *workloads: Document, policy: JobPolicy = POLICY) -> JobView:
    key = Key("ns", SAMPLES[kind.framework].job["metadata"]["name"])
    return JobView(
        kind=kind,
        key=key,
        policy=policy,
        job=job,
        workloads=workloads,
        namespace_labels={},
        flavors=FLAVORS,
    )


def run(seen: JobView) -> tuple[JobView, list[Intent]]:
    intents = job_lifecycle.decide_to_rest(seen, NOW)
    return seen.after(intents, NOW), intents


def test_kind_is_known_under_its_framework(kind):
    assert FRAMEWORKS[kind.framework] == (kind.resource.api_version, kind.resource.kind)


def test_pod_sets_follow_from_the_spec_where_the_kind_says_so(kind, sample):
    bare = {name: value for name, value in sample.job.items() if name in ("metadata", "spec")}
    bare["metadata"] = {name: bare["metadata"].get(name) for name in ("name", "labels", "annotations")}
    if kind.pod_sets_by_spec:
        assert job_pod_sets.of_job(kind, bare, POLICY) == job_pod_sets.of_job(kind, sample.job, POLICY)


def test_sample_gives_a_workload(kind, sample):
    workload = workload_of(kind, sample.job)
    assert 1 <= len(workload["spec"]["podSets"]) <= names.MAX_POD_SETS
    assert workload["spec"]["queueName"] == "main-queue"
    assert job_matching.is_equivalent(kind, sample.job, workload, FLAVORS, POLICY)


def test_documents_handed_over_are_never_changed(kind, sample):
    before = copy.deepcopy(sample.job)
    running = started(kind, sample.job)
    stopped(kind, running, workload_of(kind, sample.job))
    kind.remote_copy(sample.job, "w", "hub", POLICY)
    assert sample.job == before


def test_start_unsuspends_and_injects(kind, sample):
    running = started(kind, sample.job)
    assert not kind.is_suspended(running)
    written, spots = json.dumps(running), kind.templates(running)
    assert written.count('"tier": "spot"') == len(spots)
    for spot in spots:
        assert f'"{names.POD_SET_LABEL}": "{spot.name.lower()}"' in written


def test_started_job_is_still_its_workloads(kind, sample):
    workload = admitted(kind, sample.job)
    assert job_matching.is_equivalent(kind, started(kind, sample.job), workload, FLAVORS, POLICY)


def test_stop_restores_the_job_exactly(kind, sample):
    running = told(kind, started(kind, sample.job), sample.running)
    back = stopped(kind, running, workload_of(kind, sample.job))
    assert {name: back[name] for name in ("metadata", "spec")} == {
        name: sample.job[name] for name in ("metadata", "spec")
    }


def test_stop_restores_what_was_mutated_in_between(kind, sample):
    running = started(kind, sample.job)
    for spot in kind.templates(running):
        if spot.rendered is not None:
            continue
        beside = spot.annotations_at or (*spot.path, "metadata", "annotations")
        running = put(running, (*beside[:-1], "labels", "added"), "later")
    back = stopped(kind, told(kind, running, sample.running), workload_of(kind, sample.job))
    assert back["spec"] == sample.job["spec"]


def test_unknown_fields_and_user_metadata_survive_a_run(kind, sample):
    running = started(kind, sample.job)
    assert "OfTheFuture" in str(running["spec"])
    assert running["metadata"] == sample.job["metadata"]


def test_stop_of_a_stopped_job_does_nothing(kind, sample):
    assert kind.stop(sample.job, job_pod_sets.infos_of_spec(workload_of(kind, sample.job))).steps == ()


def test_status_is_read(kind, sample):
    assert kind.is_active(told(kind, sample.job, sample.running))
    assert not kind.is_active(sample.job)
    assert kind.pods_ready(told(kind, sample.job, sample.ready))
    assert not kind.pods_ready(sample.job)
    assert kind.finished(told(kind, sample.job, sample.running)) is None
    for status, success in ((sample.succeeded, True), (sample.failed, False)):
        if status is None:
            continue
        finish = kind.finished(told(kind, sample.job, status))
        assert finish is not None
        assert finish.success is success


def test_remote_copy_becomes_a_job_with_the_same_pod_sets(kind, sample):
    copy_ = kind.remote_copy(sample.job, "the-workload", "hub", POLICY)
    assert prebuilt_name(copy_, POLICY) == "the-workload"
    assert copy_["metadata"]["labels"][names.MULTIKUEUE_ORIGIN_LABEL] == "hub"
    assert {"ownerReferences", "finalizers", "uid", "resourceVersion"}.isdisjoint(copy_["metadata"])
    assert kind.managed_by(copy_) == ""
    ours, theirs = (job_pod_sets.of_job(kind, job, POLICY) for job in (sample.job, joined(kind, copy_)))
    assert job_matching.same_pod_sets(ours, theirs)


def test_remote_status_comes_back_whole(kind, sample):
    remote = {**kind.remote_copy(sample.job, "w", "hub", POLICY), "status": sample.succeeded or sample.ready}
    assert kind.status_back(sample.job, remote, NOW).status == remote["status"]
    assert kind.status_back({**sample.job, "status": remote["status"]}, remote, NOW).status is None


def test_idle_status_tells_of_no_pods(kind, sample):
    lost = {**sample.job, "status": kind.idle_status({**sample.job, "status": sample.ready})}
    assert not kind.is_active(lost)
    assert not kind.pods_ready(lost)


def test_life_from_creation_to_finish_is_idempotent(kind, sample):
    seen, intents = run(view(kind, sample.job))
    assert [type(intent) for intent in intents if isinstance(intent, WRITES)] == [CreateObject]
    assert run(seen)[1] == []

    seen, _ = run(view(kind, sample.job, admitted(kind, sample.job)))
    assert seen.job is not None
    assert not kind.is_suspended(seen.job)
    assert run(seen)[1] == []

    if sample.succeeded is None:
        return
    ended = told(kind, seen.job, sample.succeeded)
    seen, _ = run(view(kind, ended, *seen.workloads))
    (workload,) = seen.workloads
    assert intent_effects.find_condition(workload, "Finished")["reason"] == "Succeeded"
    assert run(seen)[1] == []


def test_eviction_restores_and_the_job_can_start_again(kind, sample):
    workload = admitted(kind, sample.job)
    seen, _ = run(view(kind, sample.job, workload))
    assert seen.job is not None
    evicted = condition("Evicted", reason="Preempted", message="for another")
    evicted_workload = {
        **workload,
        "status": {**workload["status"], "conditions": [*workload["status"]["conditions"], evicted]},
    }
    seen, _ = run(view(kind, {**seen.job, "status": {}}, evicted_workload))
    assert seen.job is not None
    assert seen.job["spec"] == sample.job["spec"]
    (released,) = seen.workloads
    assert "admission" not in released["status"]

    again = {**released, "status": workload["status"]}
    seen, _ = run(view(kind, seen.job, again))
    assert seen.job is not None
    assert not kind.is_suspended(seen.job)

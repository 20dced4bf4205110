"""Looks that see what an earlier decision came to rest on, and nothing else."""

from dataclasses import replace

import msgspec
import pytest

from worker_agent.api.document import put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_lifecycle, job_pod_sets, job_rest
from worker_agent.jobs import KINDS

from .builders import NOW, admitted, condition, job, view, workload


def told_again(document, **metadata):
    """As a watch shows it: another object that says the same, but for what the server counts."""
    copy = msgspec.json.decode(msgspec.json.encode(document))
    return {**copy, "metadata": {**copy["metadata"], **metadata}}


def resting(*, policy=None):
    seen = view(job(), workload(job()), policy=policy or JobPolicy())
    settled = job_lifecycle.settle(seen, NOW)
    assert settled.rest is not None
    return settled.rest


def test_a_decision_that_finds_nothing_rests_on_what_it_saw():
    seen = view(job(), workload(job()))
    assert job_lifecycle.settle(seen, NOW) == job_lifecycle.Settled([], seen)


def test_a_decision_that_writes_rests_on_what_it_wrote():
    settled = job_lifecycle.settle(view(job(), admitted(job())), NOW)
    assert settled.intents
    assert settled.rest is not None
    assert settled.rest.job["spec"]["suspend"] is False


@pytest.mark.parametrize("seen", [view(None), view(job(), namespace_labels=None)], ids=["gone", "no namespace"])
def test_every_rest_is_one_to_the_next_decision(seen):
    rest = job_lifecycle.settle(seen, NOW).rest
    assert rest is None or job_lifecycle.settle(rest, NOW).intents == []


def test_what_comes_back_with_another_version_is_still_the_same():
    rest = resting()
    seen = replace(
        rest,
        job=told_again(rest.job, resourceVersion="8", generation=3),
        workloads=(told_again(rest.workloads[0], resourceVersion="9", annotations={}),),
    )
    assert job_rest.is_still(rest, seen)


def test_the_generation_of_a_workload_counts():
    rest = resting()
    seen = replace(rest, workloads=(told_again(rest.workloads[0], generation=2),))
    assert not job_rest.is_still(rest, seen)


def test_the_generation_of_a_job_counts_where_its_slices_are_named_by_it():
    elastic = put(job(), ("metadata", "annotations"), {"kueue.x-k8s.io/elastic-job": "true"})
    rest = view(elastic, policy=JobPolicy(elastic_jobs=True))
    assert job_rest.is_still(rest, replace(rest, job=told_again(elastic, resourceVersion="8")))
    assert not job_rest.is_still(rest, replace(rest, job=told_again(elastic, generation=9)))


CHANGES = {
    "the job's status": lambda seen: replace(seen, job={**seen.job, "status": {"active": 1}}),
    "a label": lambda seen: replace(seen, job=told_again(seen.job, labels={"a": "b"})),
    "a job made anew": lambda seen: replace(seen, job=told_again(seen.job, uid="another")),
    "a deletion": lambda seen: replace(seen, job=told_again(seen.job, deletionTimestamp="2026-01-01T00:00:00Z")),
    "the job is gone": lambda seen: replace(seen, job=None),
    "a condition": lambda seen: replace(
        seen, workloads=({**seen.workloads[0], "status": {"conditions": [condition("Evicted")]}},)
    ),
    "another workload": lambda seen: replace(seen, workloads=(*seen.workloads, seen.workloads[0])),
    "no workload": lambda seen: replace(seen, workloads=()),
    "a prebuilt one": lambda seen: replace(seen, prebuilt=seen.workloads[0]),
    "the namespace's labels": lambda seen: replace(seen, namespace_labels={"team": "b"}),
    "a refusal": lambda seen: replace(seen, not_to_start="the lease has run out"),
    "pods elsewhere": lambda seen: replace(seen, runs_elsewhere=True),
    "a dispatch": lambda seen: replace(seen, dispatched=True),
    "a word kept back": lambda seen: replace(seen, ready_since=NOW),
    "flavors": lambda seen: replace(seen, flavors={}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_else_a_decision_reads_makes_another_view_of_it(change):
    rest = resting()
    assert not job_rest.is_still(rest, change(rest))


def test_pod_sets_are_made_once_for_a_spec():
    kind, policy = KINDS["batch/job"], JobPolicy()
    first = job()
    first["metadata"]["uid"] = "made-once"
    made = job_pod_sets.of_job(kind, first, policy)
    again = {**told_again(first, resourceVersion="9"), "status": {"active": 1}}
    assert job_pod_sets.of_job(kind, again, policy) is made
    resized = put(again, ("spec", "parallelism"), 7)
    assert job_pod_sets.of_job(kind, resized, policy)[0]["count"] == 7
    minimum = put(again, ("metadata", "annotations"), {"kueue.x-k8s.io/job-min-parallelism": "1"})
    assert "minCount" in job_pod_sets.of_job(kind, minimum, JobPolicy(partial_admission=True))[0]
    assert job_pod_sets.of_job(kind, again, policy) is made

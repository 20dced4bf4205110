"""Elastic jobs: one slice per size."""

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_lifecycle
from worker_agent.engine.intents import ApplyStatus, CreateObject, Intent

from .builders import NOW, RESERVED, admission, admitted, condition, errors, job, patched, view, workload

POLICY = JobPolicy(wait_for_pods_ready=False, reclaimable_pods=False)
ELASTIC = {names.ELASTIC_JOB_ANNOTATION: "true"}


def elastic(size: int, **more: object) -> Document:
    return job(annotations=ELASTIC, parallelism=size, **more)


def piece(name: str, size: int, *conditions: Document, second: int = 0, replaces: str = "") -> Document:
    made = workload(elastic(size), *conditions, name=name, admission=admission(size))
    annotations = {**ELASTIC, names.WORKLOAD_SLICE_NAME_ANNOTATION: "first"}
    if replaces:
        annotations[names.SLICE_REPLACEMENT_FOR_ANNOTATION] = f"ns/{replaces}"
    made = put(made, ("metadata", "annotations"), annotations)
    return put(made, ("metadata", "creationTimestamp"), f"2026-01-01T00:00:{second:02}Z")


def decide(of: Document, *owned: Document) -> list[Intent]:
    return job_lifecycle.decide(view(of, *owned, policy=POLICY), NOW)


def finished(intents: list[Intent]) -> dict[str, str]:
    """Slices finished, with the reason."""
    return {
        intent.key.name: condition.reason
        for intent in intents
        if isinstance(intent, ApplyStatus)
        for condition in intent.conditions
        if condition.type == "Finished"
    }


def created(intents: list[Intent]) -> dict[str, str]:
    return next(i.document["metadata"]["annotations"] for i in intents if isinstance(i, CreateObject))


def test_first_slice_names_its_chain():
    intents = decide(elastic(2))
    create = next(intent for intent in intents if isinstance(intent, CreateObject))
    assert created(intents)[names.WORKLOAD_SLICE_NAME_ANNOTATION] == create.key.name
    assert names.SLICE_REPLACEMENT_FOR_ANNOTATION not in created(intents)


def test_growth_of_a_reserved_slice_makes_a_new_one():
    annotations = created(decide(elastic(3, suspend=False), piece("first", 2, RESERVED)))
    assert annotations[names.SLICE_REPLACEMENT_FOR_ANNOTATION] == "ns/first"
    assert annotations[names.WORKLOAD_SLICE_NAME_ANNOTATION] == "first"


def test_growth_before_quota_changes_the_slice_in_place():
    intents = decide(elastic(3), piece("first", 2))
    assert patched(intents, "Workload")["spec"]["podSets"][0]["count"] == 3
    assert not [intent for intent in intents if isinstance(intent, CreateObject)]


def test_shrinking_changes_the_slice_in_place():
    intents = decide(elastic(1, suspend=False), piece("first", 2, RESERVED, condition("Admitted")))
    assert patched(intents, "Workload")["spec"]["podSets"][0]["count"] == 1


def test_job_goes_on_while_its_new_slice_waits():
    old, new = piece("first", 2, RESERVED, condition("Admitted")), piece("second", 3, second=1, replaces="first")
    assert decide(elastic(3, suspend=False), old, new) == []


def test_replaced_slice_is_finished():
    old = piece("first", 2, RESERVED)
    new = piece("second", 3, RESERVED, condition("Admitted"), second=1, replaces="first")
    assert finished(decide(elastic(3, suspend=False), old, new)) == {"first": "WorkloadSliceReplaced"}


def test_stray_slice_is_out_of_sync():
    first, stray = piece("first", 2, RESERVED), piece("stray", 2, second=1, replaces="nobody")
    assert finished(decide(elastic(2, suspend=False), first, stray)) == {"stray": "OutOfSync"}


def test_only_the_newest_of_several_pending_slices_stays():
    assert finished(decide(elastic(2), piece("first", 2), piece("second", 2, second=1))) == {"first": "OutOfSync"}


def test_pod_sets_under_other_names_are_matched_as_usual():
    other = put(piece("first", 2, RESERVED), ("spec", "podSets", 0, "name"), "workers")
    assert not errors(decide(elastic(2), other))


def test_running_elastic_job_without_admission_is_not_stopped():
    assert decide(elastic(2, suspend=False), piece("first", 2)) == []


def test_slice_name_goes_to_the_pods():
    owned = put(
        admitted(elastic(2), count=2, name="second"),
        ("metadata", "annotations"),
        {**ELASTIC, names.WORKLOAD_SLICE_NAME_ANNOTATION: "first"},
    )
    template = patched(decide(elastic(2), owned))["spec"]["template"]
    assert template["metadata"]["annotations"][names.WORKLOAD_SLICE_NAME_ANNOTATION] == "first"

"""The job's one Workload: adopted, matched, rewritten, replaced, kept true."""

import msgspec
import pytest

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine.intents import (
    DeleteObject,
    PatchObject,
    RemoveFinalizer,
)

from .builders import (
    EARLIER,
    RESERVED,
    admission,
    admitted,
    condition,
    conditions,
    decide,
    errors,
    events,
    job,
    of_type,
    patched,
    view,
    workload,
)

DELETED = {"deletionTimestamp": EARLIER, "finalizers": ["user"]}


# Prebuilt


PREBUILT = job(annotations={names.PREBUILT_WORKLOAD: "made-before"})


def ownerless(of: Document) -> Document:
    return put(workload(of, name="made-before"), ("metadata", "ownerReferences"), None)


def test_prebuilt_workload_is_adopted():
    intents = decide(view(PREBUILT, prebuilt=ownerless(PREBUILT)))
    owner = patched(intents, "Workload")["metadata"]["ownerReferences"][0]
    assert (owner["name"], owner["uid"], owner["controller"]) == ("train", "train-uid", True)
    assert not errors(intents)


def test_prebuilt_workload_of_another_job_counts_as_missing():
    other = workload(job("other"), name="made-before")
    assert errors(decide(view(PREBUILT, prebuilt=other))) == ["prebuilt workload not found"]


def test_prebuilt_workload_that_differs_is_out_of_sync():
    running = put(PREBUILT, ("spec", "suspend"), False)
    intents = decide(view(running, prebuilt=ownerless(job(parallelism=9))))
    told = "The prebuilt workload is out of sync with its user job"
    assert conditions(intents)["Finished"] == ("True", "OutOfSync", told)
    assert ("Stopped", "missing workload") in events(intents)
    assert errors(intents) == ["prebuilt workload not found"]


def test_admitted_prebuilt_workload_starts_the_job():
    owned = admitted(PREBUILT, name="made-before")
    assert events(decide(view(PREBUILT, owned, prebuilt=owned))) == [("Started", "Admitted by clusterQueue cq")]


# Matching


def test_second_workload_is_deleted():
    intents = decide(view(job(), workload(job(), name="a"), workload(job(), name="b")))
    assert [intent.key.name for intent in of_type(intents, DeleteObject)] == ["b"]
    assert errors(intents) == ["extra workloads: deleted 1 workloads"]


def test_workload_without_quota_is_rewritten():
    owned = put(workload(job(parallelism=5)), ("spec", "active"), False)
    intents = decide(view(job(), owned))
    spec = patched(intents, "Workload")["spec"]
    assert (spec["podSets"][0]["count"], spec["active"]) == (1, False)
    name = owned["metadata"]["name"]
    assert events(intents)[0] == ("UpdatedWorkload", f"Updated not matching Workload for suspended job: ns/{name}")


def test_workload_with_quota_is_replaced():
    intents = decide(view(job(parallelism=2), workload(job(), RESERVED, admission=admission())))
    assert of_type(intents, DeleteObject)
    assert errors(intents) == ["no matching workloads: deleted 1 workloads"]


def test_running_job_that_no_workload_matches_is_stopped_and_restored():
    intents = decide(view(job(suspend=False, parallelism=2), admitted(job())))
    told = "No matching Workload; restoring pod templates according to existent Workload"
    assert events(intents)[0] == ("Stopped", told)


def test_workload_being_deleted_just_loses_its_finalizer():
    going = put(workload(job(parallelism=2), name="old"), ("metadata", "deletionTimestamp"), EARLIER)
    intents = decide(view(job(), workload(job(), name="new"), going))
    assert [type(intent) for intent in intents] == [RemoveFinalizer]


# Priority and gates


def classes(**values: int) -> dict[str, WorkloadPriorityClass]:
    return {n: msgspec.convert({"metadata": {"name": n}, "value": v}, WorkloadPriorityClass) for n, v in values.items()}


def with_class(owned: Document, group: str, name: str) -> Document:
    return put(owned, ("spec", "priorityClassRef"), {"group": group, "kind": "any", "name": name})


def test_workload_follows_the_label():
    labelled = job(labels={names.PRIORITY_CLASS_LABEL: "high"})
    owned = with_class(workload(job()), "kueue.x-k8s.io", "low")
    intents = decide(view(labelled, owned, workload_priority_classes=classes(high=9)))
    spec = patched(intents, "Workload")["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (9, "high")


@pytest.mark.parametrize(
    "owned",
    [
        with_class(workload(job()), "scheduling.k8s.io", "pods"),
        workload(job(), RESERVED, admission=admission()),
        with_class(workload(job(), condition("Finished")), "kueue.x-k8s.io", "low"),
    ],
    ids=["pod priority class", "quota and no class", "finished"],
)
def test_priority_that_is_left_alone(owned):
    labelled = job(labels={names.PRIORITY_CLASS_LABEL: "high"})
    intents = decide(view(labelled, owned, workload_priority_classes=classes(high=9)))
    assert not of_type(intents, PatchObject)


def test_gates_follow_the_job():
    gated = job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b,a.io/c"})
    intents = decide(view(job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b"}), workload(gated)))
    assert events(intents) == [("UpdatedWorkload", 'Updated workload AdmissionGatedBy to "a.io/b"')]


def test_removed_gates_are_removed():
    gated = job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b"})
    after = patched(decide(view(job(), workload(gated))), "Workload")
    assert names.ADMISSION_GATED_BY_ANNOTATION not in after["metadata"].get("annotations", {})

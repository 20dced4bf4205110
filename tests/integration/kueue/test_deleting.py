import pytest

from tests.integration.kueue.conftest import Kueue
from tests.integration.kueue.test_stopping import POD_SETS
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS, WORKLOADS

JOB = {"suspend": True, "template": POD_SETS[0]["template"]}


def put_job(kueue: Kueue, name: str = "train") -> tuple[Document, Document]:
    """A job and its workload."""
    job = kueue.put(JOBS, name, spec=JOB)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": True}
    metadata = {"ownerReferences": [owner]}
    return job, kueue.put(WORKLOADS, f"job-{name}", metadata=metadata, spec={"queueName": "q", "podSets": POD_SETS})


def test_job_is_deleted_after_a_question_by_its_uid(kueue: Kueue) -> None:
    job, _ = put_job(kueue)
    told = kueue("delete", "workload", "job-train", answer="y\n")
    assert told == (
        "This operation will also delete:\n"
        f"  - jobs.batch/train associated with the {kueue.namespace}/job-train workload\n"
        "Do you want to proceed (y/n)? jobs.batch/train deleted\n"
    )
    (sent,) = kueue.writes
    assert (sent.method, sent.path) == ("DELETE", f"/apis/batch/v1/namespaces/{kueue.namespace}/jobs/train")
    assert sent.body["preconditions"] == {"uid": job["metadata"]["uid"]}


def test_no_is_no(kueue: Kueue) -> None:
    put_job(kueue)
    assert kueue("delete", "kwl", "job-train", answer="n\n").endswith("Deletion is canceled\n")
    assert kueue("delete", "kwl", "job-train").endswith("Deletion is canceled\n"), "nobody answers"
    assert not kueue.writes


def test_job_that_was_made_anew_is_left_alone(kueue: Kueue) -> None:
    kueue.put(JOBS, "train", spec=JOB)
    gone = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "0-another"}
    # The finalizer keeps it from the garbage collector, as that of a workload in use does.
    metadata = {"ownerReferences": [gone], "finalizers": [names.IN_USE_FINALIZER]}
    kueue.put(WORKLOADS, "old", metadata=metadata, spec={"queueName": "q", "podSets": POD_SETS})
    assert "UID" in kueue.fails("delete", "workload", "old", "--yes")


def test_workload_without_a_job_is_deleted_unasked(kueue: Kueue) -> None:
    made = kueue.put(WORKLOADS, "alone", spec={"queueName": "q", "podSets": POD_SETS})
    assert kueue("delete", "workload", "alone") == "workload.kueue.x-k8s.io/alone deleted\n"
    assert kueue.writes[0].body["preconditions"] == {"uid": made["metadata"]["uid"]}


def test_all_of_a_namespace(kueue: Kueue) -> None:
    put_job(kueue, "one")
    put_job(kueue, "two")
    told = kueue("delete", "workload", "--all", "--yes")
    assert told == "jobs.batch/one deleted\njobs.batch/two deleted\n"


@pytest.mark.parametrize(("where", "writes"), [("client", []), ("server", [True, True])])
def test_dry_runs_keep_everything_and_ask_nothing(kueue: Kueue, where: str, writes: list[bool]) -> None:
    put_job(kueue)
    kueue.put(WORKLOADS, "alone", spec={"queueName": "q", "podSets": POD_SETS})
    before = kueue.everything(JOBS, WORKLOADS)
    told = kueue("delete", "workload", "alone", "job-train", "--dry-run", where)
    assert told == (
        f"workload.kueue.x-k8s.io/alone deleted ({where} dry run)\njobs.batch/train deleted ({where} dry run)\n"
    )
    assert [sent.dry for sent in kueue.writes] == writes
    assert kueue.everything(JOBS, WORKLOADS) == before


def test_missing_one_is_told_and_the_others_are_deleted(kueue: Kueue) -> None:
    kueue.put(WORKLOADS, "alone", spec={"queueName": "q", "podSets": POD_SETS})
    told = kueue.fails("delete", "workload", "none", "alone")
    assert 'workloads.kueue.x-k8s.io "none" not found' in told
    assert "alone deleted" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "requires at least 1 arg(s), only received 0"),
        (("a", "--all"), "name cannot be provided when a selector is specified"),
        (("a", "-A"), "a resource cannot be retrieved by name across all namespaces"),
    ],
)
def test_wrong_use(kueue: Kueue, arguments: tuple[str, ...], told: str) -> None:
    assert told in kueue.fails("delete", "workload", *arguments, code=2)

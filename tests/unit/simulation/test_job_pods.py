"""Pods as a Job makes them, and sets of indexes as a status shows them."""

import pytest

from hub.local.simulation import completion_indexes, job_pods
from tests.unit.simulation.objects import JOB_UID, job, pod


def test_a_pod_carries_its_jobs_identity():
    made = job_pods.new_pod(job(), None, set())
    meta = made["metadata"]
    assert meta["generateName"] == "train-"
    assert len(meta["name"]) == len("train-") + 5
    assert meta["labels"] == {
        "controller-uid": JOB_UID,
        "job-name": "train",
        "batch.kubernetes.io/controller-uid": JOB_UID,
        "batch.kubernetes.io/job-name": "train",
    }
    assert meta["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    owner = meta["ownerReferences"][0]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (JOB_UID, True, True)


def test_an_indexed_pod_knows_its_index():
    made = job_pods.new_pod(job(), 7, set())
    meta = made["metadata"]
    assert meta["generateName"] == "train-7-"
    assert meta["annotations"]["batch.kubernetes.io/job-completion-index"] == "7"
    assert meta["labels"]["batch.kubernetes.io/job-completion-index"] == "7"
    assert made["spec"]["hostname"] == "train-7"
    variable = made["spec"]["containers"][0]["env"][0]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert "job-completion-index" in variable["valueFrom"]["fieldRef"]["fieldPath"]


def test_the_template_is_not_changed():
    given = job()
    job_pods.new_pod(given, 7, set())
    assert given == job()


def test_a_repeated_create_has_the_same_name_and_a_further_pod_another():
    first = job_pods.new_pod(job(), 0, set())["metadata"]["name"]
    assert job_pods.new_pod(job(), 0, set())["metadata"]["name"] == first
    assert job_pods.new_pod(job(), 0, {first})["metadata"]["name"] != first
    assert job_pods.new_pod(job(), 1, set())["metadata"]["name"] != first


def test_long_names_stay_within_a_dns_label():
    long = job()
    long["metadata"]["name"] = "x" * 63
    assert len(job_pods.new_pod(long, 123, set())["metadata"]["name"]) == 63


def test_failures_of_an_index_are_carried_on():
    pods = [pod("a", "Failed", index=0), pod("b", "Failed", index=0, annotations={job_pods.INDEX_FAILURES: "1"})]
    assert job_pods.failures_of_index(pods, 0) == 2
    assert job_pods.failures_of_index(pods, 1) == 0


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        (set(), ""),
        ({3}, "3"),
        ({3, 4}, "3,4"),
        ({0, 1, 2}, "0-2"),
        ({0, 1, 2, 5, 7, 8, 10, 11, 12}, "0-2,5,7,8,10-12"),
    ],
)
def test_index_sets_as_text(indexes: set[int], text: str):
    assert completion_indexes.text(indexes) == text
    assert completion_indexes.parse(text, 100) == indexes


@pytest.mark.parametrize(("text", "known"), [("0-9", {0, 1, 2}), ("x,1", {1}), ("2-", {2}), ("5", set())])
def test_index_sets_are_read_up_to_completions(text: str, known: set[int]):
    assert completion_indexes.parse(text, 3) == known

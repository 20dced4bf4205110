"""Facts of batch/v1 Job."""

from datetime import timedelta

import pytest

from worker_agent.api import names, timestamps
from worker_agent.api.document import put
from worker_agent.api.job_kind import Cause, Finish
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import InvalidPodSetInfo, PodSetInfo

from .builders import KIND, NOW, POLICY, job, pod_template

PARTIAL = {names.JOB_MIN_PARALLELISM_ANNOTATION: "2"}
FOLLOWING = {**PARTIAL, names.JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION: "true"}


@pytest.mark.parametrize(
    ("spec", "count"), [({}, 1), ({"parallelism": 5}, 5), ({"parallelism": 5, "completions": 3}, 3)]
)
def test_pod_count_is_parallelism_unless_fewer_completions_are_wanted(spec, count):
    assert KIND.pod_sets(job(**spec), POLICY)[0].count == count


def test_minimum_comes_from_the_annotation():
    assert KIND.pod_sets(job(parallelism=4, annotations=PARTIAL), POLICY)[0].min_count == 2


def test_template_is_copied_without_the_labels_of_this_one_job():
    labels = {"controller-uid": "u", "job-name": "j", "batch.kubernetes.io/job-name": "j", "app": "a"}
    template = {**pod_template(), "metadata": {"labels": labels}}
    (pod_set,) = KIND.pod_sets(job(template=template), POLICY)
    assert pod_set.template["metadata"]["labels"] == {"batch.kubernetes.io/job-name": "j", "app": "a"}


def test_start_takes_the_granted_count():
    started = KIND.start(job(parallelism=4, completions=4, annotations=FOLLOWING), [PodSetInfo("main", 3)], POLICY)
    assert (started["spec"]["parallelism"], started["spec"]["completions"]) == (3, 3)


def test_start_without_partial_admission_keeps_parallelism():
    assert KIND.start(job(parallelism=4), [PodSetInfo("main", 3)], POLICY)["spec"]["parallelism"] == 4


def test_start_needs_one_info_per_pod_set():
    with pytest.raises(InvalidPodSetInfo, match="invalid podset infos: expecting 1 podset, got 0"):
        KIND.start(job(), [], POLICY)


def test_restore_keeps_the_labels_of_the_job_controller():
    started = put(job(suspend=False), ("spec", "template", "metadata", "labels"), {"job-name": "j", "added": "x"})
    restored, changed = KIND.restore(started, [PodSetInfo("main", 1, labels={"app": "train"})])
    assert changed
    assert restored["spec"]["template"]["metadata"]["labels"] == {"app": "train", "job-name": "j"}


def test_restore_with_another_number_of_pod_sets_changes_nothing():
    running = job(suspend=False)
    assert KIND.restore(running, [PodSetInfo("a"), PodSetInfo("b")]) == (running, False)


def test_stop_has_three_writes():
    running = job(suspend=False, status={"startTime": "2026-01-01T00:00:00Z", "active": 1})
    stop = KIND.stop(running, [PodSetInfo("main", 1, labels={"app": "train"})])
    assert [step.subresource for step in stop.steps] == ["", "status", ""]
    first, _, last = (step.document for step in stop.steps)
    assert first["metadata"]["annotations"] == {names.STOPPING_ANNOTATION: "true"}
    assert names.STOPPING_ANNOTATION not in (last["metadata"].get("annotations") or {})
    assert last["spec"]["suspend"]
    assert "startTime" not in last["status"]


def test_a_job_whose_pods_are_to_end_first_is_restored_after_them():
    cause, infos = Cause(pods_first=True), [PodSetInfo("main", 1, labels={"app": "train"})]
    running = job(suspend=False, status={"startTime": "2026-01-01T00:00:00Z", "active": 1})
    begun = KIND.stop(running, infos, cause)
    assert ([step.subresource for step in begun.steps], begun.stopped, begun.complete) == ([""], True, False)
    suspended = begun.steps[0].document
    waiting = KIND.stop(suspended, infos, cause)
    assert ([step.document for step in waiting.steps], waiting.stopped, waiting.complete) == ([suspended], False, False)
    ended = KIND.stop({**suspended, "status": {"startTime": "2026-01-01T00:00:00Z", "terminating": 1}}, infos, cause)
    assert ([step.subresource for step in ended.steps][1:], ended.stopped, ended.complete) == (
        ["status", ""],
        False,
        True,
    )
    assert KIND.is_suspended(ended.steps[-1].document)


def test_interrupted_stop_counts_as_running():
    half = job(annotations={names.STOPPING_ANNOTATION: "true"})
    assert not KIND.is_suspended(half)
    assert KIND.stop(half, [PodSetInfo("main", 1, labels={"app": "train"})]).stopped


def test_stop_of_a_clean_suspended_job_writes_nothing():
    stop = KIND.stop(job(), [PodSetInfo("main", 1, labels={"app": "train"})])
    assert (stop.steps, stop.stopped) == ((), False)


@pytest.mark.parametrize(
    ("condition", "finish"),
    [
        ({"type": "Complete", "status": "True", "message": "done"}, Finish(True, "done")),
        ({"type": "Failed", "status": "True", "message": "gone"}, Finish(False, "gone")),
        ({"type": "Complete", "status": "False"}, None),
        ({"type": "SuccessCriteriaMet", "status": "True"}, None),
    ],
)
def test_finish_is_read_from_conditions(condition, finish):
    assert KIND.finished(job(status={"conditions": [condition]})) == finish


def test_ready_counts_succeeded_and_not_yet_counted_pods():
    status = {"ready": 1, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["uid"]}}
    assert KIND.pods_ready(job(parallelism=3, status=status))
    assert not KIND.pods_ready(job(parallelism=4, status=status))


@pytest.mark.parametrize(
    ("spec", "status", "reclaimable"),
    [
        ({"parallelism": 4, "completions": 6}, {"succeeded": 2}, {}),
        ({"parallelism": 4, "completions": 6}, {"succeeded": 3}, {"main": 1}),
        ({"parallelism": 1, "completions": 6}, {"succeeded": 6}, {}),
        ({"parallelism": 3}, {"succeeded": 1}, {"main": 1}),
        (
            {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
            {"completedIndexes": "0-1", "failedIndexes": "1,9"},
            {"main": 2},
        ),
    ],
)
def test_reclaimable_pods(spec, status, reclaimable):
    assert KIND.reclaimable_pods(job(status=status, **spec)) == reclaimable


def test_remote_copy_is_free_of_what_binds_it_to_this_cluster():
    template = {**pod_template(), "metadata": {"labels": {"controller-uid": "u", "batch.kubernetes.io/job-name": "j"}}}
    local = job(
        template=template,
        selector={"matchLabels": {"controller-uid": "u"}},
        managedBy=names.MULTIKUEUE_CONTROLLER,
        metadata={"finalizers": ["f"], "ownerReferences": [{"name": "o"}]},
    )
    copy = KIND.remote_copy(local, "wl", "hub", POLICY)
    assert set(copy["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert copy["metadata"]["labels"][names.MULTIKUEUE_ORIGIN_LABEL] == "hub"
    assert copy["metadata"]["annotations"][names.PREBUILT_WORKLOAD] == "wl"
    assert {"selector", "managedBy"}.isdisjoint(copy["spec"])
    assert copy["spec"]["template"]["metadata"]["labels"] == {"batch.kubernetes.io/job-name": "j"}


def test_remote_copy_points_by_label_where_annotations_are_not_read():
    copy = KIND.remote_copy(job(), "wl", "hub", JobPolicy(identifier_annotations=False))
    assert copy["metadata"]["labels"][names.PREBUILT_WORKLOAD] == "wl"


def test_remote_size_follows_an_elastic_job():
    elastic = {names.ELASTIC_JOB_ANNOTATION: "true"}
    local = job(parallelism=3, suspend=False, annotations=elastic, metadata={"generation": 2})
    remote = KIND.remote_copy(job(parallelism=2, annotations=elastic), "old", "hub", POLICY)
    new = KIND.workload_name(local, POLICY)
    grown = KIND.remote_patch(local, remote, new, POLICY)
    assert grown["spec"]["parallelism"] == 3
    assert grown["metadata"]["annotations"][names.PREBUILT_WORKLOAD] == new
    assert KIND.remote_patch(local, grown, new, POLICY) is grown
    assert KIND.remote_patch(local, remote, "old", POLICY) is remote


def test_remote_size_of_other_jobs_is_left_alone():
    remote = KIND.remote_copy(job(parallelism=2), "w", "hub", POLICY)
    assert KIND.remote_patch(job(parallelism=3), remote, "w", POLICY) is remote


def test_status_comes_back_once_the_local_job_runs():
    remote = job(suspend=False, status={"active": 1})
    assert KIND.status_back(job(suspend=False), remote, NOW).status == {"active": 1}


def test_status_of_a_running_remote_waits_for_a_suspended_local_job():
    back = KIND.status_back(job(), job(suspend=False, status={"active": 1}), NOW)
    assert back.deferred
    assert back.status is not None
    assert [c["type"] for c in back.status["conditions"]] == ["Suspended"]
    again = KIND.status_back(job(status=back.status), job(suspend=False, status={"active": 1}), NOW)
    assert (again.status, again.deferred) == (None, True)


def test_finish_comes_back_at_once():
    status = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert KIND.status_back(job(), job(suspend=False, status=status), NOW).status == status


def test_equal_status_is_not_written():
    assert KIND.status_back(job(status={"a": 1}), job(status={"a": 1}), NOW).status is None


def test_status_waits_a_moment_for_a_local_job_that_is_about_to_be_started():
    remote = job(suspend=False, status={"startTime": timestamps.rfc3339(NOW), "active": 1})
    early = KIND.status_back(job(), remote, NOW + timedelta(seconds=1))
    assert (early.status, early.deferred) == (None, True)
    assert KIND.status_back(job(), remote, NOW + timedelta(seconds=11)).status is not None


def test_status_waits_a_moment_for_a_remote_job_that_runs_since_its_creation():
    remote = job(suspend=False, metadata={"creationTimestamp": timestamps.rfc3339(NOW)})
    assert KIND.status_back(job(), remote, NOW + timedelta(seconds=1)).status is None
    assert KIND.status_back(job(), remote, NOW + timedelta(seconds=11)).status is not None


def test_a_start_is_copied_once_its_pods_are_ready_or_take_long():
    started = {"startTime": timestamps.rfc3339(NOW), "active": 2, "ready": 1}
    local, soon = job(suspend=False), NOW + timedelta(seconds=1)
    assert KIND.status_back(local, job(suspend=False, status=started), soon).deferred
    assert KIND.status_back(local, job(suspend=False, status=started | {"ready": 2}), soon).status is not None
    assert KIND.status_back(local, job(suspend=False, status=started), NOW + timedelta(seconds=11)).status == started


def test_an_end_that_is_about_to_be_told_is_copied_once():
    met = {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": timestamps.rfc3339(NOW)}
    local, remote = job(suspend=False), job(suspend=False, status={"conditions": [met]})
    assert KIND.status_back(local, remote, NOW + timedelta(seconds=1)).deferred
    assert KIND.status_back(local, remote, NOW + timedelta(seconds=11)).status == {"conditions": [met]}
    ended = {"conditions": [met, met | {"type": "Complete"}]}
    assert KIND.status_back(local, job(suspend=False, status=ended), NOW + timedelta(seconds=1)).status == ended


def test_the_end_of_an_indexed_job_counts_every_index():
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
    here = {"metadata": {}, "spec": spec, "status": {"active": 2, "succeeded": 1, "completedIndexes": "0"}}
    status = KIND.ended(here, Finish(True, ""), NOW)["status"]
    assert (status["succeeded"], status["completedIndexes"]) == (3, "0-2")
    assert "active" not in status


def test_a_running_job_keeps_its_first_start_where_its_copy_was_made_anew():
    local = job(suspend=False, status={"active": 1, "startTime": "2026-01-01T00:00:42Z"})
    again = {"succeeded": 1, "startTime": "2026-01-01T00:00:45Z", "completionTime": "2026-01-01T00:00:47Z"}
    back = KIND.status_back(local, job(suspend=False, status=again), NOW)
    assert back.status == {**again, "startTime": "2026-01-01T00:00:42Z"}


def test_a_job_does_not_end_before_its_start_where_clocks_differ():
    local = job(suspend=False, status={"active": 1, "startTime": "2026-01-01T00:00:42Z"})
    behind = {"succeeded": 1, "startTime": "2026-01-01T00:00:05Z", "completionTime": "2026-01-01T00:00:07Z"}
    back = KIND.status_back(local, job(suspend=False, status=behind), NOW)
    assert back.status is not None
    assert back.status["completionTime"] == back.status["startTime"] == "2026-01-01T00:00:42Z"


def test_a_suspended_job_takes_the_start_of_its_copy():
    local = job(status={"startTime": "2026-01-01T00:00:42Z"})
    ended = {"startTime": "2026-01-01T00:00:45Z", "conditions": [{"type": "Complete", "status": "True"}]}
    assert KIND.status_back(local, job(suspend=False, status=ended), NOW).status == ended

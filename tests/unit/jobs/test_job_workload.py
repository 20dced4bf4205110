"""The Workload made from a job."""

import msgspec
import pytest

from worker_agent.api import names, workload_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod import PriorityClass
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import job_workload
from worker_agent.engine.job_workload import PriorityClasses, PriorityMissing

from .builders import KIND, POLICY, job, pod_template

NO_CLASSES = PriorityClasses({}, {})


def workload_class(name: str, value: int) -> WorkloadPriorityClass:
    return msgspec.convert({"metadata": {"name": name}, "value": value}, WorkloadPriorityClass)


def pod_class(name: str, value: int, *, default: bool = False) -> PriorityClass:
    return msgspec.convert({"metadata": {"name": name}, "value": value, "globalDefault": default}, PriorityClass)


def test_name_is_kind_owner_and_hash():
    assert workload_name.name_of("Job", "batch", "job", "test-uid") == "job-job-b3219"


def test_extra_part_changes_the_hash_only():
    assert workload_name.name_of("Job", "batch", "job", "test-uid", extra="0") == "job-job-2e122"


@pytest.mark.parametrize(("short", "length"), [(False, 253), (True, 63)])
def test_long_names_are_cut_before_the_hash(short, length):
    name = workload_name.name_of("Job", "batch", "x" * 300, "uid", short=short)
    assert len(name) == length
    assert name[-6] == "-"


def test_content():
    annotations = {"provreq.kueue.x-k8s.io/zone": "a", "other": "b", names.ADMISSION_GATED_BY_ANNOTATION: "x.io/y"}
    source = job(labels={"team": "a", names.MAX_EXEC_TIME_LABEL: "60"}, annotations=annotations)
    built = job_workload.build(KIND, source, NO_CLASSES, JobPolicy(label_keys_to_copy=("team", "absent")))
    assert built["metadata"]["labels"] == {"team": "a", names.JOB_UID_LABEL: "train-uid"}
    assert "other" not in built["metadata"]["annotations"]
    assert set(built["metadata"]["annotations"]) == {"provreq.kueue.x-k8s.io/zone", names.ADMISSION_GATED_BY_ANNOTATION}
    assert built["metadata"]["finalizers"] == [names.IN_USE_FINALIZER]
    assert built["spec"]["queueName"] == "main-queue"
    assert built["spec"]["maximumExecutionTimeSeconds"] == 60
    assert built["spec"]["priority"] == 0


def test_uid_that_is_no_label_value_is_not_a_label():
    built = job_workload.build(KIND, job(metadata={"uid": "u" * 64}), NO_CLASSES, POLICY)
    assert names.JOB_UID_LABEL not in built["metadata"]["labels"]


@pytest.mark.parametrize("text", ["", "soon", "0", "-1"])
def test_unusable_execution_time_is_none(text):
    built = job_workload.build(KIND, job(labels={names.MAX_EXEC_TIME_LABEL: text}), NO_CLASSES, POLICY)
    assert "maximumExecutionTimeSeconds" not in built["spec"]


def priority_of(source, classes):
    return job_workload.build(KIND, source, classes, POLICY)["spec"]


def test_workload_class_wins_over_the_pods_class():
    classes = PriorityClasses({"high": workload_class("high", 7)}, {"pods": pod_class("pods", 3)})
    labelled = job(labels={names.PRIORITY_CLASS_LABEL: "high"}, template=pod_template(priorityClassName="pods"))
    spec = priority_of(labelled, classes)
    assert spec["priority"] == 7
    assert spec["priorityClassRef"] == {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}


def test_pods_class_is_next():
    classes = PriorityClasses({}, {"pods": pod_class("pods", 3)})
    spec = priority_of(job(template=pod_template(priorityClassName="pods")), classes)
    assert spec["priority"] == 3
    assert spec["priorityClassRef"]["group"] == "scheduling.k8s.io"


def test_lowest_default_class_gives_the_value_without_reference():
    classes = PriorityClasses({}, {"a": pod_class("a", 9, default=True), "b": pod_class("b", 5, default=True)})
    spec = priority_of(job(), classes)
    assert spec["priority"] == 5
    assert "priorityClassRef" not in spec


def test_missing_classes_are_errors():
    with pytest.raises(PriorityMissing, match=r'workloadpriorityclasses.kueue.x-k8s.io "no" not found'):
        priority_of(job(labels={names.PRIORITY_CLASS_LABEL: "no"}), NO_CLASSES)
    with pytest.raises(PriorityMissing, match=r'priorityclasses.scheduling.k8s.io "no" not found'):
        priority_of(job(template=pod_template(priorityClassName="no")), NO_CLASSES)

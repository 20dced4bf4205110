"""Webhook rules of jobs: what is filled in, what is refused, in which words."""

import pytest

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.selectors import parse_label_query
from worker_agent.jobs.train_job import TrainJob
from worker_agent.validation import jobs
from worker_agent.validation.jobs import JobRefused, JobSurroundings

from .builders import KIND, job, pod_template

PLAIN = JobSurroundings(policy=JobPolicy())
SUBDOMAIN = "a lowercase RFC 1123 subdomain"


def default(of: Document, around: JobSurroundings = PLAIN) -> Document:
    return jobs.default_job(KIND, of, around)


def create(of: Document, around: JobSurroundings = PLAIN) -> list[str]:
    return [str(error) for error in jobs.validate_create(KIND, of, around)]


def update(new: Document, old: Document, around: JobSurroundings = PLAIN) -> list[str]:
    return [str(error) for error in jobs.validate_update(KIND, new, old, around)]


def annotated(**annotations: str) -> Document:
    return {**pod_template(), "metadata": {"annotations": {f"kueue.x-k8s.io/{k}": v for k, v in annotations.items()}}}


# Defaults


@pytest.mark.parametrize("patches", [[-1], "x"])
def test_trainjob_of_a_wrong_form_is_left_to_its_schema(patches):
    odd = {"metadata": {"name": "t", "namespace": "ns"}, "spec": {"suspend": True, "runtimePatches": patches}}
    assert jobs.default_job(TrainJob(), odd, PLAIN) is odd


def test_queued_job_is_suspended():
    assert default(job(suspend=False))["spec"]["suspend"]


def test_job_without_queue_is_left_alone():
    plain = job(queue="", suspend=False)
    assert default(plain) is plain


def test_all_jobs_of_selected_namespaces_are_suspended_in_manage_all_mode():
    policy = JobPolicy(manage_without_queue_name=True, namespaces=parse_label_query("managed=yes"))
    plain = job(queue="", suspend=False)
    assert default(plain, JobSurroundings(policy=policy, namespace_labels={"managed": "yes"}))["spec"]["suspend"]
    assert not default(plain, JobSurroundings(policy=policy, namespace_labels={}))["spec"]["suspend"]


def test_default_queue_is_taken():
    around = JobSurroundings(policy=JobPolicy(), default_queue=True)
    filled = default(job(queue="", suspend=False), around)
    assert filled["metadata"]["labels"][names.QUEUE_NAME_LABEL] == "default"
    assert filled["spec"]["suspend"]


def owned(parent: str, queue: str = "") -> Document:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": parent, "uid": f"{parent}-uid", "controller": True}
    return job("child", queue=queue, suspend=False, metadata={"ownerReferences": [owner]})


def with_parent(parent: Document | None) -> JobSurroundings:
    return JobSurroundings(
        policy=JobPolicy(), default_queue=True, default_priority_class=True, lookup=lambda *_: parent
    )


def test_child_of_a_managed_kind_gets_no_defaults():
    child = owned("parent", queue="q")
    assert default(child, with_parent(job("parent"))) is child


def test_unfollowable_owner_is_refused():
    with pytest.raises(JobRefused, match="workload owner not found"):
        default(owned("parent", queue="q"), with_parent(None))


def test_default_priority_class_is_taken():
    around = JobSurroundings(policy=JobPolicy(), default_priority_class=True)
    assert default(job(), around)["metadata"]["labels"][names.PRIORITY_CLASS_LABEL] == "default"
    kept = default(job(labels={names.PRIORITY_CLASS_LABEL: "own"}), around)
    assert kept["metadata"]["labels"][names.PRIORITY_CLASS_LABEL] == "own"
    off = JobSurroundings(policy=JobPolicy(priority_class_defaulting=False), default_priority_class=True)
    assert names.PRIORITY_CLASS_LABEL not in default(job(), off)["metadata"]["labels"]


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("", names.MULTIKUEUE_CONTROLLER),
        ("kubernetes.io/job-controller", names.MULTIKUEUE_CONTROLLER),
        ("example.com/mine", "example.com/mine"),
    ],
)
def test_dispatched_job_is_not_run_here(manager, expected):
    around = JobSurroundings(policy=JobPolicy(), is_dispatched=lambda queue: queue == "main-queue")
    source = job(managedBy=manager) if manager else job()
    assert KIND.managed_by(default(source, around)) == expected


def test_elastic_pods_are_gated():
    gated = default(job(annotations={names.ELASTIC_JOB_ANNOTATION: "true"}, suspend=False))
    assert gated["spec"]["template"]["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/elastic-job"}]
    assert default(gated) is gated


# Creation


def test_plain_job_is_accepted():
    assert create(job()) == []


@pytest.mark.parametrize(
    ("bad", "starts"),
    [
        (job(queue="not ok"), f'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "not ok": {SUBDOMAIN}'),
        (
            job(queue="", labels={names.QUEUE_NAME_LABEL: ""}),
            f'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "": {SUBDOMAIN}',
        ),
        (
            job(annotations={names.PREBUILT_WORKLOAD: "Not"}),
            f'metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: "Not": {SUBDOMAIN}',
        ),
        (
            job(labels={names.MAX_EXEC_TIME_LABEL: "0"}),
            "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: 0: should be greater than 0",
        ),
        (
            job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b,"}),
            "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value",
        ),
        (
            job(parallelism=4, annotations={names.JOB_MIN_PARALLELISM_ANNOTATION: "4"}),
            "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: 4: should be between 0 and 3",
        ),
        (
            job(template=annotated(**{"podset-slice-size": "x", "podset-slice-required-topology": "rack"})),
            "spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-size]: Invalid value: "
            '"x": must be a numeric value',
        ),
        (
            job(template=annotated(**{"podset-unconstrained-topology": "maybe"})),
            "spec.template.metadata.annotations[kueue.x-k8s.io/podset-unconstrained-topology]: Invalid value: "
            '"maybe": must be a boolean value',
        ),
        (
            job(template=annotated(**{"podset-group-name": "g"})),
            "spec.template.metadata.annotations[kueue.x-k8s.io/podset-group-name]: Forbidden: "
            "may not be set when neither",
        ),
    ],
)
def test_refused_at_creation(bad, starts):
    (error,) = create(bad)
    assert error.startswith(starts)


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ("[", "must be a valid JSON array"),
        ("[]", "must contain between 1 and 3 entries: got 0"),
        ('[{"topology": "block", "size": 0}]', "must be greater than or equal to 1"),
        ('[{"topology": "b", "size": 4}, {"topology": "r", "size": 3}]', "must evenly divide the parent layer size 4"),
        ('[{"topology": "b", "size": 4}, {"topology": "b", "size": 2}]', "Duplicate value"),
        ('[{"topology": "b", "size": 9}]', "must not be greater than pod set count 4"),
    ],
)
def test_layers_are_checked(layers, told):
    template = annotated(**{"podset-slice-required-topology-constraints": layers})
    (error,) = create(job(parallelism=4, template=template))
    assert told in error


def test_layers_need_their_gate():
    template = annotated(**{"podset-slice-required-topology-constraints": "[]"})
    around = JobSurroundings(policy=JobPolicy(multi_layer_topology=False))
    (error,) = create(job(template=template), around)
    assert error.endswith("the TASMultiLayerTopology feature gate must be enabled to use this annotation")


def test_topology_is_not_looked_at_without_its_gate():
    around = JobSurroundings(policy=JobPolicy(topology_aware=False))
    assert create(job(template=annotated(**{"podset-unconstrained-topology": "maybe"})), around) == []


# Update


def test_queue_is_fixed_while_running():
    told = 'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "b": field is immutable'
    assert update(job(queue="b", suspend=False), job(queue="a")) == [told]
    assert update(job(queue="b"), job(queue="a", suspend=False)) == []


def test_queue_may_not_be_emptied_beside_a_default_queue():
    around = JobSurroundings(policy=JobPolicy(), default_queue=True)
    errors = update(job(queue="", suspend=False), job(queue="a"), around)
    assert len(errors) == 2
    assert errors[1].endswith("queue-name must not be empty in namespace with default queue")


def test_broken_gate_is_reported_twice():
    bad = job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "nodomain"})
    errors = update(bad, bad)
    assert len(errors) == 2
    assert errors[0] == errors[1]


def test_elastic_may_not_flip():
    errors = update(job(annotations={names.ELASTIC_JOB_ANNOTATION: "true"}), job())
    assert errors == ['metadata.annotations[kueue.x-k8s.io/elastic-job]: Invalid value: "true": field is immutable']


def test_parallelism_is_fixed_while_partially_admitted():
    partial = {names.JOB_MIN_PARALLELISM_ANNOTATION: "2"}
    old = job(suspend=False, parallelism=4, annotations=partial)
    told = "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job is not suspended"
    assert update(job(suspend=False, parallelism=5, annotations=partial), old) == [told]


def test_minimum_that_did_not_change_is_not_looked_at_again():
    partial = {names.JOB_MIN_PARALLELISM_ANNOTATION: "5"}
    assert update(job(parallelism=3, annotations=partial), job(parallelism=9, annotations=partial)) == []


def test_prebuilt_pointer_is_fixed_while_running():
    new = job(suspend=False, annotations={names.PREBUILT_WORKLOAD: "b"})
    old = job(annotations={names.PREBUILT_WORKLOAD: "a"})
    told = 'metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: "b": field is immutable'
    assert update(new, old) == [told]

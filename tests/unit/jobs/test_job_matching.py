"""Whether a Workload still describes its job."""

import pytest

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_matching, job_pod_sets

from .builders import KIND, POLICY, admitted, flavor, job, pod_template, workload

FLAVORS = {"spot": flavor(nodeLabels={"tier": "spot"}, tolerations=[{"key": "spot", "operator": "Exists"}])}
TEMPLATE = ("spec", "template", "spec")


def equivalent(of: Document, owned: Document, policy: JobPolicy = POLICY) -> bool:
    return job_matching.is_equivalent(KIND, of, owned, FLAVORS, policy)


def test_fresh_workload_is_the_jobs():
    assert equivalent(job(), workload(job()))


@pytest.mark.parametrize(
    "changed",
    [
        job(parallelism=2),
        job(template=pod_template("2")),
        job(template=pod_template(tolerations=[{"key": "t"}])),
        job(template=pod_template(initContainers=[{"name": "i"}])),
        job(labels={names.MAX_EXEC_TIME_LABEL: "10"}),
        job(annotations={names.JOB_MIN_PARALLELISM_ANNOTATION: "1"}),
        job(metadata={"uid": "other"}),
    ],
    ids=["count", "requests", "tolerations", "initContainers", "execution time", "minimum", "uid"],
)
def test_change_that_matters_makes_another_workload(changed):
    assert not equivalent(changed, workload(job()))


@pytest.mark.parametrize(
    "changed",
    [
        job(template=pod_template(nodeSelector={"a": "b"})),
        job(template=pod_template(affinity={"nodeAffinity": {}})),
        job(template={**pod_template(), "metadata": {"labels": {"other": "x"}}}),
        job(queue="other"),
    ],
    ids=["nodeSelector", "affinity", "labels", "queue"],
)
def test_change_that_does_not_matter_keeps_the_workload(changed):
    assert equivalent(changed, workload(job()))


def test_quantities_are_equal_by_value():
    assert equivalent(job(template=pod_template("1000m")), workload(job(template=pod_template("1"))))


def test_absent_and_empty_are_equal():
    empty = put(job(), (*TEMPLATE, "containers", 0, "env"), [])
    assert equivalent(empty, workload(job()))


def test_repeated_variables_are_one():
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    repeated = put(job(), (*TEMPLATE, "containers", 0, "env"), env)
    built = workload(repeated)
    container = built["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    assert equivalent(repeated, built)


def test_started_job_equals_the_running_form():
    owned = admitted(job())
    infos = job_pod_sets.infos_of_admission(owned, FLAVORS, POLICY)
    assert equivalent(KIND.start(job(), infos, POLICY), owned)


def test_partially_admitted_job_has_the_granted_count():
    partial = {names.JOB_MIN_PARALLELISM_ANNOTATION: "2"}
    owned = admitted(job(parallelism=4, annotations=partial), count=3)
    assert equivalent(job(suspend=False, parallelism=3, annotations=partial), owned)
    assert not equivalent(job(suspend=False, parallelism=4, annotations=partial), owned)
    assert equivalent(job(parallelism=4, annotations=partial), owned)


def test_admitted_workload_does_not_care_for_tolerations():
    assert equivalent(job(suspend=False, template=pod_template(tolerations=[{"key": "x"}])), admitted(job()))


def test_lost_flavor_leaves_the_plain_form_to_compare():
    owned = admitted(job())
    assert job_matching.is_equivalent(KIND, job(suspend=False), owned, {}, POLICY)


def test_uid_does_not_matter_without_orphan_finishing():
    policy = JobPolicy(finish_orphans=False)
    assert equivalent(job(metadata={"uid": "other"}), workload(job()), policy)


def test_minimum_counts_as_none_without_partial_admission():
    policy = JobPolicy(partial_admission=False)
    assert equivalent(job(annotations={names.JOB_MIN_PARALLELISM_ANNOTATION: "1"}), workload(job()), policy)

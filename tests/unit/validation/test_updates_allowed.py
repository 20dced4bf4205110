"""What an update may change: the other side of the refusals."""

import pytest

from tests.unit.validation.front_door import refusals
from tests.unit.validation.manifests import CLUSTER_QUEUE, WORKLOAD, changed, pod_set, reserved
from worker_agent.validation import ValidationPolicy

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
STALE = {"admissionChecks": [{"name": "c", "onFlavors": ["ghost"]}]}
PLACE = {"levels": ["rack"], "slices": []}


def test_counts_may_go_down_while_reserved_where_elastic_jobs_are_on():
    smaller = reserved(changed(WORKLOAD, spec__podSets=[pod_set(count=2)]))
    assert refusals(smaller, reserved()) == []
    off = ValidationPolicy(elastic_jobs=False)
    assert [line.split(":")[0] for line in refusals(smaller, reserved(), policy=off)] == ["spec.podSets.0"]


def test_the_same_pod_set_written_otherwise_is_unchanged():
    requests = "spec__podSets__0__template__spec__containers__0__resources__requests"
    respelled = changed(reserved(), **{requests: {"cpu": "1000m"}, "spec__podSets__0__template__metadata": {}})
    assert refusals(respelled, reserved()) == []


def test_the_place_of_pods_may_come_after_admission():
    placed = changed(reserved(), status__admission__podSetAssignments__0__topologyAssignment=PLACE)
    assert refusals(placed, reserved(), subresource="status") == []
    off = ValidationPolicy(topology_aware=False)
    assert [line.split(":")[0] for line in refusals(placed, reserved(), subresource="status", policy=off)] == [
        "status.admission"
    ]


def test_an_admission_may_be_cleared():
    released = changed(reserved(), status={"conditions": []})
    assert refusals(released, reserved(), subresource="status") == []


def test_what_is_over_stays_editable_and_deletable_while_its_admission_is_written():
    """B78: after an upgrade finished Workloads still hold an admission; labels and finalizers of theirs may change."""
    facts = {"status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    over = reserved(conditions=[{"type": name, **facts} for name in ("QuotaReserved", "Finished")])
    assert refusals(changed(over, metadata__labels={"seen": "yes"}), over) == []
    assert refusals(changed(over, metadata__finalizers=[]), over) == []


def test_a_workload_broken_before_stays_editable():
    broken = reserved(admission=None)
    assert refusals(changed(broken, spec__active=False), broken) == []


def test_done_pods_of_a_shrunken_elastic_workload_may_be_forgotten():
    before = reserved(changed(WORKLOAD, metadata__annotations=ELASTIC), reclaimablePods=[{"name": "main", "count": 2}])
    after = changed(before, spec__podSets__0__count=1, status__reclaimablePods=[])
    assert refusals(after, before) == []


def test_a_replacing_slice_may_go_to_any_worker():
    slice_ = {"kueue.x-k8s.io/workload-slice-replacement-for": "default/old"}
    before = changed(WORKLOAD, metadata__annotations=slice_)
    assert refusals({**before, "status": {"clusterName": "w9"}}, before, subresource="status") == []


@pytest.mark.parametrize(("reject", "lines"), [(False, 0), (True, 1)])
def test_a_stale_flavor_of_a_check_is_tolerated_until_something_about_it_changes(reject: bool, lines: int):
    stale = changed(CLUSTER_QUEUE, spec__admissionChecksStrategy=STALE)
    policy = ValidationPolicy(reject_stale_on_flavors=reject)
    assert len(refusals(changed(stale, spec__stopPolicy="Hold"), stale, policy=policy)) == lines
    renamed = changed(stale, spec__resourceGroups__0__flavors__0__name="other")
    assert len(refusals(renamed, stale, policy=policy)) == 1


def test_a_cohort_may_lend_more_than_its_own_quota():
    row = "spec__resourceGroups__0__flavors__0__resources__0__lendingLimit"
    cohort = {**changed(CLUSTER_QUEUE, **{row: "9"}), "kind": "Cohort"}
    cohort["spec"] = {"parentName": "root", "resourceGroups": cohort["spec"]["resourceGroups"]}
    assert refusals(cohort) == []

"""Objects of Kueue's kinds in v1beta1 and v1beta2: what becomes what, and what is kept where a version lacks words."""

import json

import pytest

from worker_agent.api.names import OTHER_VERSION_ANNOTATION
from worker_agent.api.versions import kept as kept_operations
from worker_agent.api.versions.convert import ConversionError, convert

OLD, NEW = "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"


def made(kind, api_version, **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, **fields}


def queue(api_version, **spec):
    return made("ClusterQueue", api_version, spec=spec)


def annotations(document):
    return document["metadata"].get("annotations") or {}


def test_cohort_has_another_name():
    assert convert(queue(OLD, cohort="all"), NEW)["spec"] == {"cohortName": "all"}
    assert convert(queue(NEW, cohortName="all"), OLD) == queue(OLD, cohort="all")


def test_plain_checks_become_a_strategy_and_come_back():
    new = convert(queue(OLD, admissionChecks=["a", "b"]), NEW)
    assert new["spec"] == {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}}
    assert convert(new, OLD) == queue(OLD, admissionChecks=["a", "b"])


def test_plain_checks_do_not_overrule_a_strategy_that_was_changed_since():
    new = convert(queue(OLD, admissionChecks=["a"], flavorFungibility={"whenCanBorrow": "Borrow"}), NEW)
    strategy = {"admissionChecks": [{"name": "c"}]}
    changed = {**new, "spec": {**new["spec"], "admissionChecksStrategy": strategy}}
    back = convert(changed, OLD)
    assert back["spec"] == {"admissionChecksStrategy": strategy, "flavorFungibility": {"whenCanBorrow": "Borrow"}}


@pytest.mark.parametrize(("field", "word"), [("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")])
def test_older_words_for_fungibility(field, word):
    new = convert(queue(OLD, flavorFungibility={field: word}), NEW)
    assert new["spec"] == {"flavorFungibility": {field: "MayStopSearch"}}
    assert convert(new, OLD)["spec"] == {"flavorFungibility": {field: word}}


def test_a_policy_that_v1beta1_does_not_know_survives_a_change_there():
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    old = convert(queue(NEW, concurrentAdmissionPolicy=policy), OLD)
    assert "concurrentAdmissionPolicy" not in old["spec"]
    back = convert({**old, "spec": {**old["spec"], "stopPolicy": "Hold"}}, NEW)
    assert back == queue(NEW, concurrentAdmissionPolicy=policy, stopPolicy="Hold")


def test_what_nobody_writes_any_more_goes():
    status = {"pendingWorkloadsStatus": {"lastChangeTime": "x"}, "pendingWorkloads": 3}
    assert convert(made("ClusterQueue", OLD, status=status), NEW) == made(
        "ClusterQueue", NEW, status={"pendingWorkloads": 3}
    )


def test_usage_of_a_local_queue_has_another_name():
    usage = [{"name": "default", "resources": []}]
    old = made("LocalQueue", OLD, status={"flavorUsage": usage, "flavors": [{"name": "default"}]})
    assert convert(old, NEW) == made("LocalQueue", NEW, status={"flavorsUsage": usage})


def test_kubeconfig_becomes_a_source():
    kubeconfig = {"location": "worker1", "locationType": "Secret"}
    old = made("MultiKueueCluster", OLD, spec={"kubeConfig": kubeconfig})
    new = made("MultiKueueCluster", NEW, spec={"clusterSource": {"kubeConfig": kubeconfig}})
    assert (convert(old, NEW), convert(new, OLD)) == (new, old)


@pytest.mark.parametrize("source", [{"clusterProfileRef": {"name": "p"}}, {"agent": {"name": "a"}}])
def test_other_sources_have_a_kubeconfig_of_no_place(source):
    new = made("MultiKueueCluster", NEW, spec={"clusterSource": source})
    old = convert(new, OLD)
    assert old["spec"]["kubeConfig"] == {"location": "", "locationType": "Secret"}
    assert convert(old, NEW) == new


@pytest.mark.parametrize(
    ("source", "group", "kind"),
    [
        ("kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"),
        ("scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"),
    ],
)
def test_priority_class_of_a_workload(source, group, kind):
    old = made("Workload", OLD, spec={"priorityClassName": "high", "priorityClassSource": source, "priority": 5})
    reference = {"group": group, "kind": kind, "name": "high"}
    new = made("Workload", NEW, spec={"priorityClassRef": reference, "priority": 5})
    assert (convert(old, NEW), convert(new, OLD)) == (new, old)


def test_no_priority_class():
    old = made("Workload", OLD, spec={"priorityClassSource": ""})
    new = made("Workload", NEW, spec={})
    assert (convert(old, NEW), convert(new, OLD)) == (new, old)


def test_time_of_earlier_admissions_is_spelled_right():
    new = convert(made("Workload", OLD, status={"accumulatedPastExexcutionTimeSeconds": 7}), NEW)
    assert new["status"] == {"accumulatedPastExecutionTimeSeconds": 7}


def placed(api_version, assignment):
    pods = {"name": "main", "topologyAssignment": assignment}
    return made("Workload", api_version, status={"admission": {"clusterQueue": "q", "podSetAssignments": [pods]}})


def test_topology_domains_become_one_slice():
    domains = [{"values": ["b1", "host-1"], "count": 2}, {"values": ["b1", "host-2"], "count": 2}]
    old = placed(OLD, {"levels": ["block", "host"], "domains": domains})
    part = {
        "domainCount": 2,
        "podCounts": {"universal": 2},
        "valuesPerLevel": [{"universal": "b1"}, {"individual": {"prefix": "host-", "roots": ["1", "2"]}}],
    }
    new = placed(NEW, {"levels": ["block", "host"], "slices": [part]})
    assert (convert(old, NEW), convert(new, OLD)) == (new, old)


def test_gates_wait_in_an_annotation():
    new = made("Workload", NEW, spec={"preemptionGates": [{"name": "g"}]})
    old = convert(new, OLD)
    patch = [{"op": "add", "path": "/spec/preemptionGates", "value": [{"name": "g"}]}]
    assert json.loads(annotations(old)[OTHER_VERSION_ANNOTATION]) == patch
    assert convert(old, NEW) == new


@pytest.mark.parametrize("text", ["", "no json", "[1]", '[{"op":"add","path":"/metadata/name","value":"x"}]', "{}"])
def test_an_annotation_that_makes_no_sense_is_taken_off(text):
    document = queue(NEW, cohortName="all")
    document["metadata"]["annotations"] = {OTHER_VERSION_ANNOTATION: text, "mine": "stays"}
    old = convert(document, OLD)
    assert old["metadata"] == {"name": "it", "annotations": {"mine": "stays"}}


def test_kinds_without_differences_change_their_version_only():
    flavor = made("ResourceFlavor", OLD, spec={"nodeLabels": {"a": "b"}})
    assert convert(flavor, NEW) == made("ResourceFlavor", NEW, spec={"nodeLabels": {"a": "b"}})


def test_an_object_without_anything_but_its_kind():
    assert convert({"apiVersion": OLD, "kind": "Workload"}, NEW) == {"apiVersion": NEW, "kind": "Workload"}


@pytest.mark.parametrize(
    ("document", "wanted", "said"),
    [
        (made("Workload", OLD), "kueue.x-k8s.io/v1alpha1", "cannot be converted"),
        (made("Job", "batch/v1"), NEW, "cannot be converted"),
        (made("Unheard", OLD), NEW, "has no kind Unheard"),
        (placed(NEW, {"levels": ["a"], "slices": [{"domainCount": 1}]}), OLD, "Workload it is not as"),
    ],
)
def test_refusals_name_what_is_wrong(document, wanted, said):
    with pytest.raises(ConversionError, match=said):
        convert(document, wanted)


def kept(operations):
    document = queue(NEW, cohortName="all")
    document["metadata"]["annotations"] = {OTHER_VERSION_ANNOTATION: json.dumps(operations)}
    return document


@pytest.mark.parametrize("amount", [300, 5_000])
def test_many_operations_of_a_user_are_not_all_tried(amount, monkeypatch):
    """Half of them fit once others are in place: trying on after each that fits costs the square of their number."""
    unfit = [{"op": "replace", "path": f"/spec/{n}/x", "value": n} for n in range(amount)]
    fit = [{"op": "add", "path": "/spec/admissionChecks", "value": []}] * amount
    tried = []
    applied = kept_operations._patched
    monkeypatch.setattr(kept_operations, "_patched", lambda *of: tried.append(of) or applied(*of))
    assert convert(kept(unfit + fit), OLD)["spec"] == {"cohort": "all"}
    assert len(tried) <= kept_operations.MOST_TRIES + 1


def test_operations_that_we_never_write_are_not_done():
    grow = [{"op": "copy", "from": "/spec", "path": f"/spec/x{n}"} for n in range(25)]
    assert convert(kept(grow), OLD) == queue(OLD, cohort="all")

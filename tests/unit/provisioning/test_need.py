"""Which pod sets are asked for, and which as one."""

import msgspec
import pytest

from tests.unit.provisioning.cases import created, decide, entry, pod_set, request, view, workload
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.engine.provisioning import need


def config(**spec):
    return msgspec.convert({"spec": {"provisioningClassName": "class", **spec}}, ProvisioningRequestConfig)


def asked(found, **spec):
    return [(entry.name, entry.count) for entry in need.asked_pod_sets(found, config(**spec))]


def test_all_pod_sets_are_asked_for_without_managed_resources():
    assert asked(workload(pod_set("a", 1), pod_set("b", 2))) == [("a", 1), ("b", 2)]


def test_a_limit_counts_as_use_of_a_managed_resource():
    gpu = pod_set("gpu", limits={"nvidia.com/gpu": "1"})
    assert asked(workload(pod_set("cpu"), gpu), managedResources=["nvidia.com/gpu"]) == [("gpu", 2)]


def test_an_init_container_counts_too():
    found = pod_set("a")
    found["template"]["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]
    assert asked(workload(found), managedResources=["nvidia.com/gpu"]) == [("a", 2)]


def test_nothing_to_ask_for_makes_the_check_ready():
    decided = decide(view(workload(), config={"managedResources": ["nvidia.com/gpu"]}))
    assert (entry(decided)["state"], entry(decided)["message"]) == ("Ready", "the provisioning request is not needed")
    assert created(decided) == []


def test_a_request_no_longer_needed_goes():
    decided = decide(view(workload(), request(), config={"managedResources": ["nvidia.com/gpu"]}))
    assert [i.key.name for i in decided.intents if type(i).__name__ == "DeleteObject"] == ["w-room-1"]


def test_partial_admission_asks_for_what_was_assigned():
    found = workload(pod_set(count=5))
    found["status"]["admission"]["podSetAssignments"][0]["count"] = 3
    assert asked(found) == [("main", 3)]


def test_a_pod_set_without_assignment_ends_the_reconcile():
    found = workload()
    found["status"]["admission"]["podSetAssignments"] = []
    decided = decide(view(found))
    assert decided.error == 'inconsistent podSet assignments: missing assignment for PodSet "main"'
    assert decided.intents == ()


@pytest.mark.parametrize(
    ("policy", "second", "merged"),
    [
        (None, {"cpu": "1"}, False),
        ("IdenticalPodTemplates", {"cpu": "1000m"}, True),
        ("IdenticalPodTemplates", {"cpu": "2"}, False),
        ("IdenticalWorkloadSchedulingRequirements", {"cpu": "1"}, True),
        ("IdenticalWorkloadSchedulingRequirements", {"cpu": "1", "memory": "1Gi"}, False),
    ],
)
def test_alike_pod_sets_are_asked_for_as_one_where_the_policy_says_so(policy, second, merged):
    found = workload(pod_set("a", 1, cpu="1"), pod_set("b", 2, **second))
    assert asked(found, podSetMergePolicy=policy) == ([("a", 3)] if merged else [("a", 1), ("b", 2)])


@pytest.mark.parametrize("policy", ["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"])
def test_what_does_not_decide_the_place_keeps_templates_apart_only_when_they_must_be_identical(policy):
    other = pod_set("b", 2, limits={"cpu": "2"})
    other["template"]["spec"]["priorityClassName"] = "high"
    merged = policy != "IdenticalPodTemplates"
    wanted = [("a", 3)] if merged else [("a", 1), ("b", 2)]
    assert asked(workload(pod_set("a", 1), other), podSetMergePolicy=policy) == wanted

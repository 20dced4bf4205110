from tests.unit.validation.manifests import CLUSTER_QUEUE, RESOURCE_FLAVOR, WORKLOAD, changed
from worker_agent.validation import ValidationPolicy, registry

IN_USE = "kueue.x-k8s.io/resource-in-use"


def defaulted(document, **gates):
    default = registry["kueue.x-k8s.io", document["kind"]].default
    return default(document, ValidationPolicy.from_gates(gates))


def test_queues_and_flavors_get_the_finalizer_once():
    for document in (CLUSTER_QUEUE, RESOURCE_FLAVOR):
        once = defaulted(document)
        assert once["metadata"]["finalizers"] == [IN_USE]
        assert defaulted(once) is once
    assert "finalizers" not in CLUSTER_QUEUE["metadata"]


def test_other_finalizers_stay():
    kept = defaulted(changed(CLUSTER_QUEUE, metadata__finalizers=["example.com/mine"]))
    assert kept["metadata"]["finalizers"] == ["example.com/mine", IN_USE]


def test_smallest_count_goes_where_partial_admission_is_off():
    partial = changed(WORKLOAD, spec__podSets__0__minCount=1)
    assert defaulted(partial) is partial
    assert defaulted(partial, PartialAdmission=False) == WORKLOAD
    assert partial["spec"]["podSets"][0]["minCount"] == 1

import pytest

from tests.integration.kueue.conftest import Kueue
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS

QUOTAS = (
    "--nominal-quota",
    "alpha:cpu=9;memory=36Gi;nvidia.com/gpu=10,beta:cpu=18;memory=72Gi;nvidia.com/gpu=20",
    "--borrowing-limit",
    "alpha:cpu=1;memory=1Gi;nvidia.com/gpu=1,beta:cpu=2;memory=2Gi;nvidia.com/gpu=2",
)


def test_cluster_queue_with_everything(kueue: Kueue) -> None:
    told = kueue(
        *("create", "clusterqueue", "full", "--cohort", "lab", "--queuing-strategy", "StrictFIFO"),
        *("--namespace-selector", "fooX=barX,fooY=barY", "--reclaim-within-cohort", "Any"),
        *("--preemption-within-cluster-queue", "LowerPriority", *QUOTAS),
    )
    assert told == "clusterqueue.kueue.x-k8s.io/full created\n"
    spec = kueue.spec("clusterqueue", "full")
    assert (spec["cohortName"], spec["queueingStrategy"]) == ("lab", "StrictFIFO")
    assert spec["namespaceSelector"] == {"matchLabels": {"fooX": "barX", "fooY": "barY"}}
    assert spec["preemption"]["reclaimWithinCohort"] == "Any"
    (group,) = spec["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", "nvidia.com/gpu"]
    assert [flavor["name"] for flavor in group["flavors"]] == ["alpha", "beta"]
    assert group["flavors"][1]["resources"][0] == {"name": "cpu", "nominalQuota": "18", "borrowingLimit": "2"}
    assert [(sent.method, sent.dry) for sent in kueue.writes] == [("POST", False)]


def test_plain_cluster_queue_takes_every_namespace(kueue: Kueue) -> None:
    kueue("create", "cq", "plain")
    assert kueue.spec("cq", "plain")["namespaceSelector"] == {}


def test_local_queue_needs_its_cluster_queue(kueue: Kueue) -> None:
    assert kueue.fails("create", "localqueue", "team", "-c", "nowhere") == (
        'error: clusterqueues.kueue.x-k8s.io "nowhere" not found\n'
    )
    assert not kueue.writes
    assert kueue("create", "lq", "team", "-c", "nowhere", "-i") == "localqueue.kueue.x-k8s.io/team created\n"
    assert kueue.spec("lq", "team")["clusterQueue"] == "nowhere"


def test_flavor_with_taints_and_tolerations(kueue: Kueue) -> None:
    kueue(
        *("create", "resourceflavor", "tainted", "--node-labels", "kubernetes.io/arch=arm64,os=linux"),
        *("--node-taints", "key1=value:NoSchedule,key2:NoExecute"),
        *("--tolerations", "key1=value:NoSchedule,key2:NoExecute,key3=value,key4,:PreferNoSchedule"),
    )
    spec = kueue.spec("rf", "tainted")
    assert spec["nodeLabels"] == {"kubernetes.io/arch": "arm64", "os": "linux"}
    assert spec["nodeTaints"] == [
        {"key": "key1", "value": "value", "effect": "NoSchedule"},
        {"key": "key2", "effect": "NoExecute"},
    ]
    assert spec["tolerations"] == [
        {"key": "key1", "operator": "Equal", "value": "value", "effect": "NoSchedule"},
        {"key": "key2", "operator": "Exists", "effect": "NoExecute"},
        {"key": "key3", "operator": "Equal", "value": "value"},
        {"key": "key4", "operator": "Exists"},
        {"operator": "Exists", "effect": "PreferNoSchedule"},
    ]


def test_a_second_one_is_refused(kueue: Kueue) -> None:
    kueue("create", "rf", "twice")
    assert 'resourceflavors.kueue.x-k8s.io "twice" already exists' in kueue.fails("create", "rf", "twice")


def test_what_the_server_finds_wrong_is_told(kueue: Kueue) -> None:
    told = kueue.fails("create", "cq", "wrong", "--queuing-strategy", "LastInFirstOut")
    assert 'Unsupported value: "LastInFirstOut"' in told


CREATIONS = (("cq", "dry"), ("lq", "dry", "-c", "nowhere", "-i"), ("rf", "dry"))
KINDS = (CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS)


@pytest.mark.parametrize("creation", CREATIONS, ids=lambda each: each[0])
def test_dry_run_of_the_client_sends_no_write(kueue: Kueue, creation: tuple[str, ...]) -> None:
    assert kueue("create", *creation, "--dry-run", "client").endswith("/dry created (client dry run)\n")
    assert not kueue.writes


@pytest.mark.parametrize("creation", CREATIONS, ids=lambda each: each[0])
def test_dry_run_of_the_server_is_checked_there_and_not_kept(kueue: Kueue, creation: tuple[str, ...]) -> None:
    before = kueue.everything(*KINDS)
    printed = kueue("create", *creation, "--dry-run", "server", "-o", "yaml")
    assert "uid:" in printed, "the server's answer is printed"
    assert [sent.dry for sent in kueue.writes] == [True]
    assert kueue.everything(*KINDS) == before
    assert "Unsupported value" in kueue.fails("create", "cq", "x", "--queuing-strategy", "no", "--dry-run", "server")

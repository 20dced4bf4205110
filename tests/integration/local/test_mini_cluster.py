"""MiniClusters of Flux through kubectl: on one cluster, evicted and run again, and sent to another cluster."""

import json
import time

import pytest
import yaml

from hub.local.spec import FederationSpec, NodeGroup
from tests.kueue_examples import CAPACITY, queues, until
from tests.local_federation import Kubectl, cluster, running

from .test_job_kinds_dispatched import check, until_empty

pytestmark = pytest.mark.embedded
KIND = "minicluster.flux-framework.org"


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    nodes = NodeGroup(name="node", count=2, capacity=CAPACITY)
    spec = FederationSpec(job_kinds=True, manager=cluster("manager"), workers=[cluster("worker", nodes)])
    folder = tmp_path_factory.mktemp("flux")
    manifests = folder / "manifests"
    for place, documents in (("manager", [*check(), *queues(["elsewhere"])]), ("workers/worker", queues())):
        (manifests / place).mkdir(parents=True)
        (manifests / place / "queues.yaml").write_text(yaml.safe_dump_all(documents))
    with running(spec, folder, manifests) as made:
        manager, worker = Kubectl(made, "manager"), Kubectl(made, "worker")
        manager.wait("clusterqueue/cluster-queue", "condition=Active")
        worker.wait("clusterqueue/cluster-queue", "condition=Active")
        yield manager, worker


def mini_cluster(name, seconds):
    container = {"image": "lammps:1", "command": "lmp", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "user-queue"}},
        "spec": {
            "size": 2,
            "containers": [container],
            "services": [{"name": "cache", "image": "redis:7", "resources": {"requests": {"cpu": "500m"}}}],
            "pod": {"annotations": {"fedhub.dev/run-seconds": seconds}},
        },
    }


def workload_of(kubectl, name):
    """The Workload of the MiniCluster once there is one, as ``workload/name``."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for each in json.loads(kubectl("get", "workloads", "-n", "default", "-o", "json"))["items"]:
            if any(owner["name"] == name for owner in each["metadata"].get("ownerReferences", ())):
                return f"workload/{each['metadata']['name']}"
        time.sleep(0.2)
    raise AssertionError(f"{name} has no Workload")


def create(kubectl, document):
    kubectl("create", "-f", "-", stdin=json.dumps(document))
    return f"{KIND}/{document['metadata']['name']}"


def runs(document):
    return document["spec"]["size"] > 0


def test_it_is_counted_with_its_services_runs_and_ends(federation):
    _, worker = federation
    name = create(worker, mini_cluster("once", "1"))
    workload = workload_of(worker, "once")
    worker.wait(workload, "condition=Finished", "-n", "default")
    told = json.loads(worker("get", workload, "-n", "default", "-o", "json"))
    assert {each["name"]: each["count"] for each in told["spec"]["podSets"]} == {"main": 2, "services": 1}
    assert json.loads(worker("get", "job/once", "-n", "default", "-o", "json"))["status"]["succeeded"] == 2
    worker("delete", name, "-n", "default")


def test_evicted_it_is_restored_and_runs_again(federation):
    _, worker = federation
    written = mini_cluster("twice", "6")
    name = create(worker, written)
    workload = workload_of(worker, "twice")
    worker.wait(workload, "condition=Admitted", "-n", "default")
    until(worker, name, runs)
    worker.wait("job/twice", "create", "-n", "default")
    worker("patch", workload, "-n", "default", "--type=merge", "-p", '{"spec":{"active":false}}')
    worker.wait(workload, "condition=QuotaReserved=false", "-n", "default")
    assert "twice" not in worker("get", "jobs,pods", "-n", "default", "-o", "name")
    held = until(worker, name, lambda document: not runs(document))
    assert held["spec"]["pod"] == written["spec"]["pod"]
    worker("patch", workload, "-n", "default", "--type=merge", "-p", '{"spec":{"active":true}}')
    until(worker, name, runs)
    worker.wait(workload, "condition=Finished", "-n", "default")
    worker("delete", name, "-n", "default")


def test_sent_to_a_worker_it_stays_held_here_and_ends_here(federation):
    manager, worker = federation
    name = create(manager, mini_cluster("away", "1"))
    workload = workload_of(manager, "away")
    manager.wait(workload, "condition=Finished", "-n", "default")
    told = json.loads(manager("get", workload, "-n", "default", "-o", "json"))
    assert told["status"]["clusterName"] == "worker"
    here = json.loads(manager("get", name, "-n", "default", "-o", "json"))
    assert here["spec"]["size"] == 0
    assert "away" not in manager("get", "jobs,pods", "-n", "default", "-o", "name")
    until_empty(worker, "workloads", KIND)
    manager("delete", name, "-n", "default")

"""Kueue's published examples of every job kind, submitted to a manager: they run on a worker, and all comes home."""

import json
import time

import pytest
import yaml

from hub.local.spec import FederationSpec, NodeGroup
from tests.kueue_examples import (
    CAPACITY,
    CONFIG_MAPS,
    ENDING,
    FOLDER,
    PATIENCE_SECONDS,
    SERVING,
    ended_well,
    is_served,
    made,
    needs_examples,
    queues,
    until,
)
from tests.local_federation import Kubectl, cluster, running

pytestmark = [
    pytest.mark.embedded,
    needs_examples,
]

STAY_HERE = ("jobs/sample-sparkapplication.yaml",)
"""Kinds that no cluster but their own can run."""
NOT_COPIED = ("deployment.apps/", "statefulset.apps/", "leaderworkerset.")
"""Kinds whose status here is that of their held pods."""


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    nodes = NodeGroup(name="node", count=2, capacity=CAPACITY)
    spec = FederationSpec(job_kinds=True, manager=cluster("manager"), workers=[cluster("worker", nodes)])
    folder = tmp_path_factory.mktemp("dispatched")
    manifests = folder / "manifests"
    for place, documents in (("manager", [*check(), *queues(["elsewhere"])]), ("workers/worker", queues())):
        (manifests / place).mkdir(parents=True)
        (manifests / place / "queues.yaml").write_text(yaml.safe_dump_all(documents))
    with running(spec, folder, manifests) as made_:
        manager, worker = Kubectl(made_, "manager"), Kubectl(made_, "worker")
        for example in CONFIG_MAPS:  # the hub asks for them where the jobs are to run
            worker("create", "-f", str(FOLDER / example), "-n", "default")
        manager.wait("clusterqueue/cluster-queue", "condition=Active")
        yield manager, worker


def check():
    kueue = "kueue.x-k8s.io/v1beta2"
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "elsewhere"}
    return [
        {
            "apiVersion": kueue,
            "kind": "AdmissionCheck",
            "metadata": {"name": "elsewhere"},
            "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
        },
        {
            "apiVersion": kueue,
            "kind": "MultiKueueConfig",
            "metadata": {"name": "elsewhere"},
            "spec": {"clusters": ["worker"]},
        },
    ]


def until_empty(kubectl, *kinds):
    """Nothing that the hub made is left."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = json.loads(kubectl("get", ",".join(kinds), "-n", "default", "-o", "json"))["items"]
        if not found:
            return
        left = [f"{each['kind']}/{each['metadata']['name']}" for each in found]
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.2)


@pytest.mark.parametrize("example", [each for each in ENDING if each not in STAY_HERE])
def test_example_runs_on_the_worker_and_ends_here(federation, example):
    manager, worker = federation
    with made(manager, example) as names:
        for name in names:
            until(manager, name, ended_well)
        until_empty(worker, "workloads", "pods", *{name.partition("/")[0] for name in names})


@pytest.mark.parametrize("example", SERVING)
def test_example_serves_on_the_worker(federation, example):
    manager, worker = federation
    with made(manager, example) as names:
        for name in names:
            if name.startswith("deployment.apps/"):
                until(manager, name, is_served)
                continue
            worker.wait(name, "create", "-n", "default")
            until(worker, name, is_served)
            if not name.startswith(NOT_COPIED):
                until(manager, name, is_served)
    until_empty(worker, "workloads", "pods", *{name.partition("/")[0] for name in names})

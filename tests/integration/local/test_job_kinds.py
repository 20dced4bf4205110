"""Kueue's published examples of every job kind, unchanged, on a local cluster where their operators are played."""

import json
import time

import pytest
import yaml

from hub.local.spec import FederationSpec, NodeGroup
from tests.kueue_examples import (
    ADMITTED_ONLY,
    AUTOSCALED,
    BY_SCHEDULE,
    CAPACITY,
    CONFIG_MAPS,
    ENDING,
    FOLDER,
    IN_TOPOLOGIES,
    NEEDS_FOREIGN_OPERATORS,
    PATIENCE_SECONDS,
    SCALABLE,
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


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    nodes = NodeGroup(name="node", count=2, capacity=CAPACITY)
    spec = FederationSpec(job_kinds=True, workers=[cluster("single", nodes)])
    folder = tmp_path_factory.mktemp("kinds")
    with running(spec, folder) as federation:
        found = Kubectl(federation, "single")
        found("apply", "-f", "-", stdin=yaml.safe_dump_all(queues()))
        found.wait("clusterqueue/cluster-queue", "condition=Active")
        yield found


@pytest.mark.parametrize("example", ENDING)
def test_example_is_queued_runs_and_ends(kubectl, example):
    with made(kubectl, example) as names:
        for name in names:
            until(kubectl, name, ended_well)


@pytest.mark.parametrize("example", SERVING)
def test_example_is_queued_and_serves(kubectl, example):
    with made(kubectl, example) as names:
        for name in names:
            until(kubectl, name, is_served)


OF_JOB_KINDS = ("jobs", "pods-kueue", "serving-workloads", "appwrapper", "pod-based-workloads")


def test_every_example_of_these_folders_is_run_or_says_what_it_needs():
    present = {f"{folder}/{path.name}" for folder in OF_JOB_KINDS for path in (FOLDER / folder).glob("*.yaml")}
    run = {*ENDING, *SERVING, *IN_TOPOLOGIES, *CONFIG_MAPS, BY_SCHEDULE, SCALABLE, ADMITTED_ONLY}
    assert present == run | set(NEEDS_FOREIGN_OPERATORS)


def pods_running(kubectl, selector):
    pods = json.loads(kubectl("get", "pods", "-n", "default", "-l", selector, "-o", "json"))["items"]
    return sum(pod["status"].get("phase") == "Running" for pod in pods)


def until_pods(kubectl, selector, count):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (running_ := pods_running(kubectl, selector)) < count:
        assert time.monotonic() < deadline, f"{running_} of {count} pods run"
        time.sleep(0.2)


def test_jobs_of_a_cron_job_are_queued_and_end(kubectl):
    with made(kubectl, BY_SCHEDULE):
        deadline = time.monotonic() + 60 + PATIENCE_SECONDS
        while not (jobs := kubectl("get", "jobs", "-n", "default", "-o", "name").split()):
            assert time.monotonic() < deadline, "no Job in more than a minute"
            time.sleep(0.5)
        document = until(kubectl, jobs[0], ended_well)
        assert document["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
        assert "workload" in kubectl("get", "workloads", "-n", "default", "-o", "name")


def test_scalable_job_grows_while_it_runs(kubectl):
    with made(kubectl, SCALABLE) as (name,):
        selector = "batch.kubernetes.io/job-name=sample-elastic-job"
        until_pods(kubectl, selector, 3)
        kubectl("patch", name, "-n", "default", "--type=merge", "-p", '{"spec":{"parallelism":6}}')
        until_pods(kubectl, selector, 6)


def test_autoscaled_ray_job_gets_the_workers_its_work_could_use(kubectl):
    with made(kubectl, AUTOSCALED) as (name,):
        job = until(kubectl, name, lambda job: (job.get("status") or {}).get("jobStatus") == "RUNNING")
        cluster = job["status"]["rayClusterName"]
        kubectl("annotate", f"raycluster/{cluster}", "-n", "default", "fedhub.dev/wanted-workers=4")
        until_pods(kubectl, f"ray.io/cluster={cluster},ray.io/node-type=worker", 4)
        until(kubectl, name, ended_well)

"""One id in the logs from a job to its remote pod; queues as both clusters tell them."""

import json
import re
import subprocess
import time

import pytest

from tests.local_federation import Kubectl

pytestmark = pytest.mark.usefixtures("berlin_alone")

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: training, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  template:
    metadata: {annotations: {fedhub.dev/run-seconds: "600"}}
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: registry.example/train, resources: {requests: {cpu: "1", memory: 1Gi}}}
"""


def lines_about(federation, program, workload):
    text = federation.layout.log(program).read_text()
    return [line for line in text.splitlines() if f"workload={workload}" in line]


def is_told(federation, workload, program, pattern):
    return any(re.search(pattern, line) for line in lines_about(federation, program, f"training/{workload}"))


def until(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"did not come about: {what}"
        time.sleep(0.1)
    return found


def test_one_id_from_the_job_to_its_remote_pod(federation):
    manager, berlin = Kubectl(federation, "manager"), Kubectl(federation, "berlin")
    manager("apply", "-f", "-", stdin=JOB % "followed")
    berlin.wait("job/followed", "create", "-n", "training")
    berlin.wait("job/followed", "jsonpath={.status.active}=1", "-n", "training")
    pods = json.loads(berlin("get", "pods", "-n", "training", "-l", "job-name=followed", "-o", "json"))["items"]
    name = pods[0]["metadata"]["annotations"]["kueue.x-k8s.io/workload"]
    for program, told in (
        ("hub", r"Job training/followed CreatedWorkload"),
        ("hub", r"Workload training/\S+ created.*cluster=berlin"),
        ("hub", r"nominated"),
        ("hub", r"Job training/followed created.*cluster=berlin"),
        ("agent-berlin", r"Admitted by ClusterQueue"),
    ):
        until(lambda each=(program, told): is_told(federation, name, *each), f"{program} tells of {told}")
    manager("delete", "job/followed", "-n", "training")


def test_queues_are_told_by_the_manager_and_by_the_worker(federation):
    for cluster, queue in (("manager", "global"), ("berlin", "")):
        kubectl = Kubectl(federation, cluster)
        name = queue or json.loads(kubectl("get", "clusterqueues", "-o", "json"))["items"][0]["metadata"]["name"]
        path = f"/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/{name}/pendingworkloads"
        told = until(lambda kubectl=kubectl, path=path: answered(kubectl, path), f"{cluster} tells what waits")
        assert json.loads(told)["kind"] == "PendingWorkloadsSummary"


def answered(kubectl, path):
    try:
        return kubectl("get", "--raw", path)
    except (AssertionError, subprocess.CalledProcessError):
        return ""

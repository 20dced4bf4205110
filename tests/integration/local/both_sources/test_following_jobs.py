"""``fedhub logs``, ``pods`` and ``events`` as commands, over a worker that dials in and one that is dialled."""

import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from hub.cli import app
from hub.local.federation import Federation
from tests import cluster_choice
from tests.command_line import Said, typed
from tests.local_federation import Kubectl

pytestmark = pytest.mark.timeout(600)  # real control planes take their time on a busy machine

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %(name)s, namespace: training, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata: {annotations: {fedhub.dev/run-seconds: "600"}}
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: registry.example/train, resources: {requests: {cpu: "%(cpu)s", memory: 1Gi}}}
"""
VIEWER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fedhub-remote-jobs}
rules:
- {apiGroups: [remote.fedhub.dev], resources: [workloads/pods, workloads/log, workloads/events], verbs: [get]}
- {apiGroups: [kueue.x-k8s.io], resources: [workloads], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: eve}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fedhub-remote-jobs}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
"""


def fedhub(federation: Federation, *words: str) -> Said:
    return typed(app, *words, "--kubeconfig", str(federation.layout.cluster_kubeconfig("manager")))


def submitted(federation: Federation, name: str, worker: str) -> None:
    """A job that runs in ``worker``; the other is cordoned until it does."""
    manager, other = Kubectl(federation, "manager"), "tokyo" if worker == "berlin" else "berlin"
    assert fedhub(federation, "cluster", "cordon", other).returncode == 0
    manager("apply", "-f", "-", stdin=JOB % {"name": name, "cpu": 2})
    there = Kubectl(federation, worker)  # a manager before 1.32 shows a job as it ran only when it has ended
    there.wait(f"job/{name}", "create", "-n", "training")
    there.wait(f"job/{name}", "jsonpath={.status.ready}=2", "-n", "training")
    assert fedhub(federation, "cluster", "uncordon", other).returncode == 0


def until_pods_wrote(federation: Federation, name: str, lines: int) -> None:
    """Waits until each of the two pods has ``lines`` in its log: a simulated one writes one a second."""
    deadline = time.monotonic() + 120
    while True:
        told = fedhub(federation, "logs", f"job/{name}", "-n", "training", "--all-pods")
        by_pod = Counter(line.split(" ")[0] for line in told.stdout.splitlines())
        if len(by_pod) == 2 and min(by_pod.values()) >= lines:
            return
        assert time.monotonic() < deadline, (by_pod, told.stderr)


def until_told_by(federation: Federation, job: tuple[str, ...], clusters: set[str]) -> None:
    """Waits for events of all these clusters, and sees none of others: they are written after what they tell of."""
    deadline = time.monotonic() + 120
    while True:
        told = json.loads(fedhub(federation, "events", *job, "-o", "json").stdout)["items"]
        found = {event["metadata"]["annotations"]["fedhub.dev/cluster"] for event in told}
        if found == clusters:
            return
        assert found < clusters, found
        assert time.monotonic() < deadline, found


@pytest.fixture(autouse=True)
def _no_job_stays(federation: Federation) -> Iterator[None]:
    yield
    Kubectl(federation, "manager")("delete", "jobs", "--all", "-n", "training")


@pytest.mark.parametrize("worker", ["berlin", "tokyo"])
def test_job_is_followed_to_its_worker(federation, worker):
    name = f"train-{worker}"
    submitted(federation, name, worker)
    job = (f"job/{name}", "-n", "training")
    pods = json.loads(fedhub(federation, "pods", *job, "-o", "json").stdout)["items"]
    assert [pod["metadata"]["annotations"]["fedhub.dev/cluster"] for pod in pods] == [worker] * 2
    until_told_by(federation, job, {"", worker})  # the manager has no name
    if cluster_choice.chosen() == cluster_choice.EMBEDDED:
        until_pods_wrote(federation, name, lines=4)
    logs = fedhub(federation, "logs", *job, "--all-pods", "--tail", "3")
    if cluster_choice.chosen() == cluster_choice.EMBEDDED:
        assert logs.stdout.count(f"[pod/{name}-") == 6
    else:
        assert (logs.returncode, f"cluster {worker}: " in logs.stderr) == (1, True)  # simulated nodes have no kubelet


def test_job_that_runs_nowhere_says_what_it_waits_for(federation):
    Kubectl(federation, "manager")("apply", "-f", "-", stdin=JOB % {"name": "huge", "cpu": 900})
    found = fedhub(federation, "logs", "job/huge", "-n", "training")
    assert (found.returncode, "runs nowhere yet" in found.stderr) == (3, True)


def test_user_without_the_right_to_read_pods_is_refused(federation):
    """Embedded servers refuse nobody; there tests/integration/tunnel/test_job_views says no in their place."""
    if cluster_choice.chosen() == cluster_choice.EMBEDDED:
        pytest.skip("needs an API server with authorisation")
    manager = Kubectl(federation, "manager")
    submitted(federation, "private", "tokyo")
    manager("apply", "-f", "-", stdin=VIEWER)
    workload = manager("get", "workloads", "-n", "training", "-o", "name").splitlines()
    name = next(each.partition("/")[2] for each in workload if "private" in each)
    path = f"/apis/remote.fedhub.dev/v1alpha1/namespaces/training/workloads/{name}/pods"
    refused = manager("get", "--raw", path, "--as", "eve", check=False)
    assert 'pods is forbidden: User "eve" cannot list resource "pods"' in refused
    assert '"PodList"' in manager("get", "--raw", path)

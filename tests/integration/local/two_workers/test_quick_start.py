"""Kueue's quick start, typed with unmodified kubectl against one cluster with our agent; then its multi-cluster set-up,
with that cluster as the worker."""

import re

from tests.kueue_examples import FOLDER, needs_examples
from tests.local_federation import Kubectl

SETUP = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu", "memory"]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: default, name: user-queue}
spec: {clusterQueue: cluster-queue}
"""
SHORT_OF_CPU = (
    "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 2 more needed"
)
PUBLISHED = FOLDER / "admin/single-clusterqueue-setup.yaml"
MULTIKUEUE = FOLDER / "multikueue/multikueue-setup.yaml"


def job(name: str, seconds: int) -> str:
    return f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  namespace: default
  labels: {{kueue.x-k8s.io/queue-name: user-queue}}
spec:
  parallelism: 1
  completions: 1
  template:
    metadata:
      annotations: {{fedhub.dev/run-seconds: "{seconds}"}}
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: registry.example/job:1
        resources: {{requests: {{cpu: "3", memory: 1Gi}}}}
"""


def setup_text() -> str:
    text = PUBLISHED.read_text() if PUBLISHED.exists() else SETUP
    return re.sub(r"nominalQuota: 36Gi", "nominalQuota: 8Gi", re.sub(r"nominalQuota: 9\b", "nominalQuota: 4", text))


def workload_of(kubectl: Kubectl, name: str) -> str:
    query = f'jsonpath={{.items[?(@.metadata.ownerReferences[0].name=="{name}")].metadata.name}}'
    return kubectl("get", "workloads", "-n", "default", "-o", query)


def test_quick_start(kubectl):
    applied = kubectl("apply", "-f", "-", stdin=setup_text())
    assert applied.splitlines() == [
        "resourceflavor.kueue.x-k8s.io/default-flavor created",
        "clusterqueue.kueue.x-k8s.io/cluster-queue created",
        "localqueue.kueue.x-k8s.io/user-queue created",
    ]
    kubectl.wait("clusterqueue/cluster-queue", "condition=Active")
    kubectl.wait("localqueue/user-queue", "condition=Active", "-n", "default")

    assert kubectl("create", "-f", "-", stdin=job("first", 600)) == "job.batch/first created\n"
    kubectl.wait("job/first", "jsonpath={.status.active}=1")
    assert kubectl("create", "-f", "-", stdin=job("second", 1)) == "job.batch/second created\n"
    second = ""
    while not second:
        second = workload_of(kubectl, "second")
    kubectl.wait(f"workload/{second}", "condition=QuotaReserved=False", "-n", "default")

    described = kubectl("describe", "workload", second, "-n", "default")
    assert SHORT_OF_CPU in described
    assert kubectl("get", "job", "second", "-o", "jsonpath={.spec.suspend}") == "true"

    # Queue statuses are refreshed at most once a second.
    kubectl.wait("clusterqueue/cluster-queue", "jsonpath={.status.pendingWorkloads}=1")
    kubectl.wait("clusterqueue/cluster-queue", "jsonpath={.status.admittedWorkloads}=1")
    wide = kubectl("get", "clusterqueue", "-o", "wide").splitlines()
    assert wide[0].split() == ["NAME", "COHORT", "STRATEGY", "PENDING", "WORKLOADS", "ADMITTED", "WORKLOADS"]
    assert wide[1].split() == ["cluster-queue", "BestEffortFIFO", "1", "1"]
    narrow = kubectl("get", "workloads", "-n", "default").splitlines()
    assert narrow[0].split() == ["NAME", "QUEUE", "RESERVED", "IN", "ADMITTED", "FINISHED", "AGE"]
    assert any(
        line.split()[:4] == [workload_of(kubectl, "first"), "user-queue", "cluster-queue", "True"] for line in narrow
    )

    kubectl("annotate", "pods", "-l", "batch.kubernetes.io/job-name=first", "--overwrite", "fedhub.dev/run-seconds=1")
    kubectl.wait("job/first", "condition=Complete")
    kubectl.wait("job/second", "condition=Complete")
    kubectl.wait(f"workload/{second}", "condition=Finished", "-n", "default")


def test_manifests_of_v1beta1_are_taken_and_shown(kubectl):
    older = SETUP.replace("v1beta2", "v1beta1").replace("cluster-queue", "older").replace("user-queue", "older")
    older = older.replace("spec:\n  namespaceSelector", "spec:\n  cohort: all\n  namespaceSelector")
    kubectl("apply", "-f", "-", stdin=older)
    assert kubectl("get", "clusterqueue", "older", "-o", "jsonpath={.spec.cohortName}") == "all"
    in_old = ("get", "clusterqueues.v1beta1.kueue.x-k8s.io", "older", "-o")
    assert kubectl(*in_old, "jsonpath={.spec.cohort}") == "all"
    again = kubectl("apply", "-f", "-", stdin=older)
    assert all(line.endswith(" unchanged") for line in again.splitlines())


@needs_examples
def test_published_multi_cluster_setup_dispatches_a_job(federation):
    manager, worker = Kubectl(federation, "manager"), Kubectl(federation, "quick")
    worker("delete", "jobs", "--all", "-n", "default")
    kubeconfig = federation.layout.cluster_kubeconfig("quick")
    secret = ("secret", "generic", "worker1-secret", "-n", "kueue-system", f"--from-file=kubeconfig={kubeconfig}")
    manager("create", *secret)
    worker("apply", "-f", str(PUBLISHED))
    manager("apply", "-f", str(MULTIKUEUE))
    manager.wait("multikueuecluster/multikueue-test-worker1", "condition=Active")
    manager.wait("admissioncheck/sample-multikueue", "condition=Active")
    manager.wait("clusterqueue/cluster-queue", "condition=Active")

    manager("create", "-f", "-", stdin=job("dispatched", 6))
    worker.wait("job/dispatched", "create", "-n", "default")
    manager.wait("job/dispatched", "condition=Complete", "-n", "default")
    manager.wait("workload", "condition=Finished", "--all", "-n", "default")
    worker.wait("job/dispatched", "delete", "-n", "default")
    worker.wait("workload", "delete", "--all", "-n", "default")

"""Jobs that wait for nodes, typed with unmodified kubectl: Kueue's published example, then nodes that come and go."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hub.local.spec import NodeGroup
from tests.kueue_examples import FOLDER, needs_examples
from tests.local_federation import Kubectl

EXAMPLE = FOLDER / "provisioning"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
GPU = NodeGroup(
    name="gpu",
    count=1,
    capacity={"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"},
    taints=[GPU_TAINT],
)
BURST = NodeGroup(
    name="burst",
    count=0,
    max_count=3,
    capacity={"cpu": "8", "memory": "32Gi", "pods": "110"},
    labels={"pool": "burst", "rack": "r1"},
)

BURST_FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec:
  levels:
  - {nodeLabel: rack}
  - {nodeLabel: kubernetes.io/hostname}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: burst}
spec:
  nodeLabels: {pool: burst}
  topologyName: racks
---
"""
GROWING_QUEUE = (
    BURST_FLAVOR
    + """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: grow}
spec:
  provisioningClassName: best-effort-atomic-scale-up.autoscaling.x-k8s.io
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: grow}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: grow}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: growing}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu", "memory"]
    flavors:
    - name: burst
      resources:
      - {name: cpu, nominalQuota: 24}
      - {name: memory, nominalQuota: 96Gi}
  admissionChecksStrategy:
    admissionChecks: [{name: grow}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: default, name: growing}
spec: {clusterQueue: growing}
"""
)
GANG = """
apiVersion: batch/v1
kind: Job
metadata:
  name: gang
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: growing}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata:
      annotations:
        kueue.x-k8s.io/podset-required-topology: rack
        fedhub.dev/run-seconds: "3"
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: registry.example/job:1
        resources: {requests: {cpu: "6", memory: 1Gi}}
"""


def pods_of(kubectl: Kubectl, job: str) -> list[dict]:
    found = kubectl("get", "pods", "-n", "default", "-l", f"batch.kubernetes.io/job-name={job}", "-o", "json")
    return json.loads(found)["items"]


@pytest.fixture
def jobs_end(kubectl: Kubectl) -> Iterator[None]:
    """With the test, however it ends: others use these names."""
    yield
    kubectl("delete", "jobs", "--all", "-n", "default")


@pytest.fixture
def published(kubectl: Kubectl) -> Iterator[None]:
    """Kueue's queues of this example, taken away after it, for its others have queues of the same names."""
    kubectl("apply", "-f", str(EXAMPLE / "provisioning-setup.yaml"))
    yield
    kubectl("delete", "jobs", "--all", "-n", "default")
    kubectl("delete", "-f", str(EXAMPLE / "provisioning-setup.yaml"))


@needs_examples
def test_published_example_works_unchanged(kubectl, published):
    kubectl.wait("admissioncheck/sample-prov", "condition=Active")
    kubectl.wait("clusterqueue/cluster-queue", "condition=Active")
    name = kubectl("create", "-f", str(EXAMPLE / "sample-job.yaml"), "-o", "name").strip().removeprefix("job.batch/")

    kubectl.wait("workload", "condition=Admitted", "--all", "-n", "default")
    # At once, for all of it goes when the pods have run, which they do for a few seconds.
    with ThreadPoolExecutor() as asking:
        listed = asking.submit(kubectl, "get", "provreq,podtemplate", "-n", "default", "-o", "json")
        shown = asking.submit(kubectl, "get", "provreq", "-n", "default").result().splitlines()
    request, template = json.loads(listed.result())["items"]
    assert request["spec"]["parameters"] == {"maxRunDurationSeconds": "600"}
    assert request["spec"]["podSets"][0]["count"] == 3
    assert shown[0].split() == ["NAME", "ACCEPTED", "PROVISIONED", "FAILED", "AGE"]
    assert shown[1].split()[:3] == [request["metadata"]["name"], "True", "True"]
    assert template["metadata"]["name"] == request["spec"]["podSets"][0]["podTemplateRef"]["name"]
    assert template["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"]

    started = "jsonpath={.status.startTime}"
    kubectl.wait("pod", started, "-n", "default", "-l", f"batch.kubernetes.io/job-name={name}")
    pods = pods_of(kubectl, name)
    assert {pod["spec"]["nodeName"] for pod in pods} == {"gpu-0"}
    consume = "autoscaling.x-k8s.io/consume-provisioning-request"
    assert {pod["metadata"]["annotations"][consume] for pod in pods} == {request["metadata"]["name"]}

    kubectl("delete", "job", name, "-n", "default")
    kubectl.wait("provreq", "delete", "--all", "-n", "default")
    kubectl.wait("podtemplate", "delete", "--all", "-n", "default")


def test_nodes_come_for_a_gang_in_one_rack_and_go_after_it(kubectl, jobs_end):
    kubectl("apply", "-f", "-", stdin=GROWING_QUEUE)
    kubectl.wait("clusterqueue/growing", "condition=Active")
    kubectl("create", "-f", "-", stdin=GANG)
    kubectl.wait("node/burst-0", "create")
    kubectl.wait("node/burst-1", "create")
    kubectl.wait("job/gang", "condition=Complete", "-n", "default")
    assert sorted(pod["spec"]["nodeName"] for pod in pods_of(kubectl, "gang")) == ["burst-0", "burst-1"]
    kubectl.wait("node/burst-0", "delete")
    kubectl.wait("node/burst-1", "delete")

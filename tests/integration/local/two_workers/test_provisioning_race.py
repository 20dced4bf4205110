"""A job that no cluster has nodes for: two are asked, the quicker autoscaler wins, the other is told off in time."""

from tests.integration.local.two_workers.test_provisioning import BURST_FLAVOR, GANG, GROWING_QUEUE
from tests.local_federation import Kubectl

MANAGER_QUEUE = (
    BURST_FLAVOR
    + """
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: both}
spec: {clusters: [slow, quick]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: elsewhere}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: both}
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
      - {name: cpu, nominalQuota: 48}
      - {name: memory, nominalQuota: 192Gi}
  admissionChecksStrategy:
    admissionChecks: [{name: elsewhere}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: default, name: growing}
spec: {clusterQueue: growing}
"""
)


def test_the_first_cluster_with_nodes_gets_the_job_and_the_other_makes_none(federation):
    manager, slow, quick = (Kubectl(federation, name) for name in ("manager", "slow", "quick"))
    for kubectl in (slow, quick):
        kubectl("apply", "-f", "-", stdin=GROWING_QUEUE)
        kubectl.wait("clusterqueue/growing", "condition=Active")
    manager("apply", "-f", "-", stdin=MANAGER_QUEUE)
    manager.wait("clusterqueue/growing", "condition=Active")

    manager("create", "-f", "-", stdin=GANG)
    asked = "jsonpath={.items[*].status.conditions[?(@.type=='Accepted')].status}"
    for kubectl in (slow, quick):
        while "True" not in kubectl("get", "provreq", "-n", "default", "-o", asked):
            pass  # kubectl itself takes its time

    manager.wait("job/gang", "condition=Complete", "-n", "default")
    slow.wait("provreq", "delete", "--all", "-n", "default")
    assert slow("get", "workloads", "-n", "default", "-o", "name") == ""
    assert slow("get", "nodes", "-o", "name") == ""
    quick.wait("node/burst-0", "delete")

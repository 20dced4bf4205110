"""Kueue's published multi-cluster set-up, applied unchanged on the manager, dispatches a Job."""

from hub.local.spec import FederationSpec
from tests.integration.local.test_quick_start import job
from tests.kueue_examples import FOLDER, needs_examples
from tests.local_federation import Kubectl, cluster, running

SETUP = FOLDER / "multikueue/multikueue-setup.yaml"
WORKER_SETUP = FOLDER / "admin/single-clusterqueue-setup.yaml"


@needs_examples
def test_published_setup_works_unchanged(tmp_path):
    spec = FederationSpec(manager=cluster("manager"), workers=[cluster("worker1")])
    with running(spec, tmp_path) as federation:
        manager, worker = Kubectl(federation, "manager"), Kubectl(federation, "worker1")
        kubeconfig = federation.layout.cluster_kubeconfig("worker1")
        manager(
            "create",
            "secret",
            "generic",
            "worker1-secret",
            "-n",
            "kueue-system",
            f"--from-file=kubeconfig={kubeconfig}",
        )
        worker("apply", "-f", str(WORKER_SETUP))
        manager("apply", "-f", str(SETUP))
        manager.wait("multikueuecluster/multikueue-test-worker1", "condition=Active")
        manager.wait("admissioncheck/sample-multikueue", "condition=Active")
        manager.wait("clusterqueue/cluster-queue", "condition=Active")

        manager("create", "-f", "-", stdin=job("dispatched", 6))
        worker.wait("job/dispatched", "create", "-n", "default")
        manager.wait("job/dispatched", "condition=Complete", "-n", "default")
        manager.wait("workload", "condition=Finished", "--all", "-n", "default")
        worker.wait("job/dispatched", "delete", "-n", "default")
        assert worker("get", "workloads", "-n", "default", "-o", "name") == ""

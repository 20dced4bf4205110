from collections.abc import Iterator

import pytest

from hub.local.federation import Federation
from hub.local.spec import Autoscaler, Cluster, FederationSpec, NodeGroup
from tests.integration.local.one_cluster.test_provisioning import BURST
from tests.local_federation import BIG_NODES, cluster, running


def worker(name: str, provision_seconds: float, *standing: NodeGroup) -> Cluster:
    rules = Autoscaler(accept_seconds=1, provision_seconds=provision_seconds, idle_seconds=2)
    return Cluster(name=name, node_groups=[BURST, *standing], autoscaler=rules)


@pytest.fixture(scope="package")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Only ``quick`` has nodes from the start. Every test leaves it without jobs, and with queues of its own names."""
    spec = FederationSpec(manager=cluster("manager"), workers=[worker("slow", 3600), worker("quick", 3, BIG_NODES)])
    with running(spec, tmp_path_factory.mktemp("two-workers")) as started:
        yield started

from collections.abc import Iterator, Sequence

import pytest

from hub.local.federation import Federation
from hub.local.spec import Autoscaler, Cluster, FederationSpec, NodeGroup
from tests.integration.local.two_workers.test_provisioning import BURST, GPU
from tests.kueue_examples import FOLDER, topology_nodes
from tests.local_federation import BIG_NODES, Kubectl, cluster, running


def worker(name: str, provision_seconds: float, standing: Sequence[NodeGroup] = ()) -> Cluster:
    """Nodes stay a moment after their pods, whose places are looked at until then: pods go with their nodes."""
    rules = Autoscaler(accept_seconds=1, provision_seconds=provision_seconds, idle_seconds=5)
    return Cluster(name=name, node_groups=[BURST, *standing], autoscaler=rules)


def racks() -> list[NodeGroup]:
    """Without GPUs, which one other node is to have."""
    return [
        group.model_copy(update={"capacity": {k: v for k, v in group.capacity.items() if "gpu" not in k}})
        for group in (topology_nodes() if FOLDER.exists() else [])
    ]


@pytest.fixture(scope="package")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Only ``quick`` has nodes from the start. Every test leaves it without jobs, and with queues of its own names."""
    quick = worker("quick", 3, [BIG_NODES, GPU, *racks()])
    spec = FederationSpec(manager=cluster("manager"), workers=[worker("slow", 3600), quick])
    with running(spec, tmp_path_factory.mktemp("two-workers")) as started:
        yield started


@pytest.fixture(scope="package")
def kubectl(federation: Federation) -> Kubectl:
    """For the tests about one cluster."""
    return Kubectl(federation, "quick")

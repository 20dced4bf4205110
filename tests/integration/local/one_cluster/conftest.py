from collections.abc import Iterator

import pytest

from hub.local.spec import Cluster, FederationSpec
from tests.integration.local.one_cluster.test_provisioning import BURST, GPU, QUICK
from tests.kueue_examples import FOLDER, topology_nodes
from tests.local_federation import Kubectl, running


@pytest.fixture(scope="package")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Every test leaves it without jobs. Nodes in racks have no GPUs here, where one other node is to have them."""
    racks = topology_nodes() if FOLDER.exists() else []
    without = [
        group.model_copy(update={"capacity": {k: v for k, v in group.capacity.items() if "gpu" not in k}})
        for group in racks
    ]
    cluster = Cluster(name="single", node_groups=[*without, GPU, BURST], autoscaler=QUICK)
    with running(FederationSpec(workers=[cluster]), tmp_path_factory.mktemp("one-cluster")) as federation:
        yield Kubectl(federation, "single")

"""What is written for the programs of a local federation before they start."""

import pytest

from hub.local import programs, spec
from hub.local.layout import Layout
from hub.local.programs import Clusters


async def test_no_cluster_counts_as_ready_by_what_an_earlier_federation_left(tmp_path):
    where = Layout(tmp_path)
    shipped = spec.load(spec.shipped())
    left = where.cluster_kubeconfig(shipped.clusters[0].name)
    left.parent.mkdir(parents=True)
    left.write_text("of the one before")
    first = next(programs.of(shipped, where, Clusters()))
    assert not await first.ready()
    assert not left.exists()


@pytest.mark.parametrize("persistent", [False, True])
def test_objects_of_an_earlier_federation_stay_only_where_that_was_asked_for(tmp_path, persistent):
    where = Layout(tmp_path)
    shipped = spec.load(spec.shipped())
    left = where.cluster(shipped.clusters[0].name) / "etcd" / "member"
    left.mkdir(parents=True)
    next(programs.of(shipped, where, Clusters(programs.REAL_CLUSTER, persistent)))
    assert left.exists() is persistent

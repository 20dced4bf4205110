"""Leaves in a report: short runs, read back as they were."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tas.small_topology import HOSTS, RACKS, H, room
from worker_agent.api.cluster_capacity import LeafRoom
from worker_agent.engine.tas import leaf_report
from worker_agent.engine.tas.leaf_report import LeafReportError

names = st.text("ab019-", min_size=1, max_size=6).filter(lambda name: name[0] != "-")


def report(where):
    return msgspec.convert(leaf_report.report(where), LeafRoom)


def test_equal_neighbours_are_one_run():
    nodes = " ".join(f"b1/r{rack}/n{rack}{host:02}=4" for rack in (1, 2) for host in range(1, 11))
    assert report(room(nodes)).runs == ["b1/r1/n101+9 0", "/r2/n201+9 0"]


def test_another_size_or_taint_is_another_run():
    found = report(room("b1/r1/n1=4 b1/r1/n2=2 b1/r1/n3=2", taints={"n3": "v"}))
    assert found.runs == ["b1/r1/n1 0", "//n2 1", "//n3 2"]
    assert [kind.free["cpu"] for kind in found.kinds] == ["4", "2", "2"]
    assert found.kinds[2].taints[0].key == "gpu"


def test_what_would_be_too_long_is_left_out():
    nodes = " ".join(f"b1/r1/x{'abcdefgh'[i % 8]}{i}y=4" for i in range(3000))
    assert leaf_report.report(room(nodes)) is None


def test_labels_with_few_values_are_told():
    hosts = [f"n{number:02}" for number in range(12)]
    labels = {host: {"disk": "fast" if host < "n03" else "slow", "serial": host} for host in hosts}
    found = report(room(" ".join(f"b1/r1/{host}=4" for host in hosts), labels=labels))
    assert found.label_keys == ["disk"]
    assert [kind.labels for kind in found.kinds] == [{"disk": "fast"}, {"disk": "slow"}]
    assert found.runs == ["b1/r1/n00+2 0", "//n03+8 1"]


@given(st.lists(st.tuples(st.sampled_from("ab"), names, names, st.integers(0, 2)), min_size=1, max_size=12))
def test_read_back_as_it_was(leaves):
    where = room(" ".join(f"{block}/{rack}/{host}={cpu}" for block, rack, host, cpu in leaves))
    facts = leaf_report.facts(HOSTS, {"x": "y"}, report(where))
    expected = [(leaf.path, leaf.taints, leaf.free) for leaf in leaf_report.leaves_of(where)]
    assert [(tuple(f.labels[level] for level in HOSTS), f.taints, f.free) for f in facts] == expected
    assert all(fact.labels["x"] == "y" for fact in facts)


def test_leaves_may_be_racks():
    where = room("b1/r1/a=2 b1/r2/b=2 b1/r3/c=2", RACKS)
    assert report(where).runs == ["b1/r1+2 0"]
    assert [fact.labels["rack"] for fact in leaf_report.facts(RACKS, {}, report(where))] == ["r1", "r2", "r3"]


@pytest.mark.parametrize("run", ["", "b1/r1 0", "b1/r1/n1", "b1/r1/n1 7", "b1/r1/n9+1 0", "//n1 0", "b1/r1/n1+1"])
def test_a_run_that_cannot_be_read_is_told(run):
    kinds = [{"free": {"cpu": "1"}}]
    with pytest.raises(LeafReportError, match="is no run of leaves"):
        leaf_report.facts(("block", "rack", H), {}, msgspec.convert({"kinds": kinds, "runs": [run]}, LeafRoom))

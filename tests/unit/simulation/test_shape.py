"""Nodes from a description, and what is said about a wrong one."""

from typing import Any

import pytest

from hub.local.simulation.shape import ClusterShape, ShapeError
from tests.unit.simulation.objects import NOW

GROUP = {"name": "gpu", "count": 2, "capacity": {"cpu": 8, "memory": "32Gi"}}


def test_a_group_makes_equal_nodes():
    taint = {"key": "gpu", "effect": "NoSchedule"}
    shape = ClusterShape.from_documents([GROUP | {"labels": {"type": "gpu"}, "taints": [taint]}])
    nodes = shape.nodes(NOW)
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-0", "gpu-1"]
    node = nodes[1]
    assert node["metadata"]["labels"]["type"] == "gpu"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "gpu-1"
    assert node["spec"]["taints"] == [taint]
    assert node["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}
    assert any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "nodeGroups[0].name: is required"),
        ({"count": -1}, "nodeGroups[0].count: must be a whole number from 0, not -1"),
        ({"count": True}, "nodeGroups[0].count: must be a whole number from 0, not True"),
        ({"capacity": {"cpu": "many"}}, "nodeGroups[0].capacity.cpu: 'many' is not a quantity"),
        ({"capacity": {"cpu": "-1"}}, "nodeGroups[0].capacity.cpu: '-1' is not a quantity"),
        ({"maxCount": -1}, "nodeGroups[0].maxCount: must be a whole number from 0, not -1"),
        ({"colour": "red"}, "nodeGroups[0].colour: unknown field (allowed: name, count,"),
    ],
)
def test_a_wrong_group_is_named(change: dict[str, Any], message: str):
    with pytest.raises(ShapeError) as caught:
        ClusterShape.from_documents([GROUP | change])
    assert str(caught.value).startswith(message)


def test_names_are_unique():
    with pytest.raises(ShapeError, match=r"nodeGroups\[1\].name: 'gpu' is used twice"):
        ClusterShape.from_documents([GROUP, GROUP])


def test_an_autoscaled_group_starts_small_and_marks_what_is_added():
    shape = ClusterShape.from_documents([GROUP | {"maxCount": 3}], {"bookingSeconds": 30})
    assert len(shape.nodes(NOW)) == 2
    added = shape.groups[0].added(2, NOW)["metadata"]
    assert (added["name"], added["labels"]["fedhub.dev/node-group"]) == ("gpu-2", "gpu")
    assert shape.autoscaler is not None
    assert shape.autoscaler.booking_seconds == 30


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"delay": 3}, "autoscaler.delay: unknown field (allowed: acceptSeconds, "),
        ({"idleSeconds": -1}, "autoscaler.idleSeconds: must be a number from 0, not -1"),
        ({"acceptSeconds": "soon"}, "autoscaler.acceptSeconds: must be a number from 0, not 'soon'"),
    ],
)
def test_a_wrong_autoscaler_is_named(rules: dict[str, Any], message: str):
    with pytest.raises(ShapeError) as caught:
        ClusterShape.from_documents([GROUP], rules)
    assert str(caught.value).startswith(message)

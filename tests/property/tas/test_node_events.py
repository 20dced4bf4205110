"""Nodes that come, go and change leave the room as if it had been built anew."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tas.small_topology import HOSTS, H, place, pods
from worker_agent.engine.resources import PODS
from worker_agent.engine.tas.flavor_room import FlavorRoom, NodeFacts
from worker_agent.engine.tas.placed_pods import PlacedPods


@dataclass(frozen=True)
class Event:
    """Node ``host`` is now in this rack with this size and taint; without a size it is gone."""

    host: int
    rack: int
    cpu: int | None
    tainted: bool


events = st.lists(
    st.builds(Event, st.integers(0, 5), st.integers(0, 4), st.none() | st.integers(0, 4), st.booleans()), max_size=15
)
usage = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 2)), max_size=4)


def facts(event: Event) -> NodeFacts | None:
    if event.cpu is None:
        return None
    labels = {"block": f"b{event.rack // 2}", "rack": f"r{event.rack}", H: f"n{event.host}"}
    taints = (("gpu", "", "NoSchedule"),) if event.tainted else ()
    return NodeFacts(f"node-{event.host}", labels, taints, {"cpu": event.cpu * 1000, PODS: 10})


def built(nodes: list[NodeFacts], used: list[tuple[int, int]]) -> FlavorRoom:
    room = FlavorRoom("flavor", "default", (), HOSTS, nodes)
    for host, cpu in used:
        room.count(PlacedPods("flavor", (f"n{host}",), (1,), {"cpu": cpu * 1000}), 1)
    return room


@given(events, usage, usage)
def test_rooms_follow_nodes(history: list[Event], before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
    start = NodeFacts("node-9", {"block": "b0", "rack": "r9", H: "n9"}, (), {"cpu": 1000, PODS: 10})
    nodes = {start.name: start}
    room = built([start], before)
    for event in history:
        node = facts(event)
        place(room, pods(1, required="rack", selector={"rack": f"r{event.rack}"}))
        assert room.follow(f"node-{event.host}", node)
        nodes.pop(f"node-{event.host}", None)
        if node is not None:
            nodes[node.name] = node
    for host, cpu in after:
        room.count(PlacedPods("flavor", (f"n{host}",), (1,), {"cpu": cpu * 1000}), 1)
    fresh = built(list(nodes.values()), before + after)
    assert room.tree.paths == fresh.tree.paths
    assert room.tree.sizes == fresh.tree.sizes
    for mine, other in zip(room.tree.first_child, fresh.tree.first_child, strict=True):
        assert np.array_equal(mine, other)
    for resource, row in room.resources.items():
        assert np.array_equal(room.left[row], fresh.left[fresh.resources[resource]])
    for ask in (pods(3, preferred="rack"), pods(2, unconstrained=True), pods(9, required="block", selector={"x": "y"})):
        assert place(room, ask) == place(fresh, ask)

"""Preferred node affinity ranks domains before their room does."""

import msgspec

from tests.unit.tas.small_topology import place, pods, room
from worker_agent.api.pod import NodeAffinity

ZONE_A = msgspec.convert(
    {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}}
        ]
    },
    NodeAffinity,
)


def test_the_preferred_host_comes_first() -> None:
    nodes = room("b1/r1/n1=3 b1/r1/n2=5", labels={"n2": {"zone": "a"}})
    ask = pods(3, preferred="rack", affinity=ZONE_A)
    assert place(nodes, ask, preferred_affinity=True) == {"main": "n2:3"}
    assert place(nodes, ask) == {"main": "n1:3"}

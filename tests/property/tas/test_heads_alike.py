"""What heads of one cycle have in common is worked out once; decisions are those of heads looked at one by one."""

from copy import deepcopy
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import cluster_queue, pod_set, quota, workload
from tests.engine_world import EngineWorld
from tests.unit.tas.test_in_the_cycle import host, tas_flavor, topology, world
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import known_flavors
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.plan import Plan
from worker_agent.engine.preemption.search import Preemptor
from worker_agent.engine.tas.topology_placement import TopologyPlacement, net_usage

REQUESTS = ({"required": "rack"}, {"preferred": "rack"}, {"unconstrained": True}, None)
hosts = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=6)
queues = st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.booleans()), min_size=2, max_size=5)
heads = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 4), st.integers(0, 1)), max_size=8)


def queue(name: str, nominal: int, in_cohort: bool, second_flavor: bool) -> Document:
    flavors: dict[str, Any] = {"tas": {"cpu": quota(nominal)}, "other": {"cpu": quota(2)}}
    listed = flavors if second_flavor else {"tas": flavors["tas"]}
    preemption = {"withinClusterQueue": "LowerPriority"} if nominal % 2 else None
    return cluster_queue(name, listed, cohort="c" if in_cohort else "", preemption=preemption)


def built(places: list[tuple[int, int]], quotas: list[tuple[int, bool, bool]]) -> EngineWorld:
    nodes = [host(f"n{i}", f"r{rack}", cpu) for i, (rack, cpu) in enumerate(places)]
    nodes.append(host("other", "r9", 3, pool="b"))
    found = world(*nodes, queues=tuple(queue(f"q{i}", *facts) for i, facts in enumerate(quotas)))
    found.put(tas_flavor("other", "b"), topology())
    return found


def played(where: EngineWorld, waiting: list[tuple[int, int, int, int]], number: int) -> list[Any]:
    """Plans of three cycles, and where the pods are then."""
    for index, (place, request, count, priority) in enumerate(waiting):
        asked = REQUESTS[request]
        pods = pod_set(count=count, **({"topologyRequest": asked} if asked else {}))
        where.put(deepcopy(workload(f"w{index}", pods, queue=f"q{place % number}", priority=priority)))
    plans: list[Plan] = []
    for _ in range(3):
        plans.append(where.cycle())
        where.advance(1)
    return [plans, [where.workload(Key("ns", f"w{i}")).get("status") for i in range(len(waiting))]]


def asked_of_the_nodes(placement: TopologyPlacement, preemptor: Preemptor, assignment: Assignment) -> bool:
    return placement._topology.shortage(net_usage(preemptor.row, assignment)) is None


@settings(deadline=None, max_examples=60)
@given(hosts, queues, heads)
def test_heads_alike_get_what_each_would_get_for_itself(
    places: list[tuple[int, int]], quotas: list[tuple[int, bool, bool]], waiting: list[tuple[int, int, int, int]]
) -> None:
    together = played(built(places, quotas), waiting, len(quotas))
    with (
        patch.object(known_flavors, "placed_again", return_value=None),
        patch.object(TopologyPlacement, "fits", asked_of_the_nodes),
        patch.object(TopologyPlacement, "_alike", return_value=None),
    ):
        alone = played(built(places, quotas), waiting, len(quotas))
    assert together == alone

"""Small topologies and requests in one line each.

``b1/r1/n1=2`` is block/rack/host with 2 cpu and 100 pods (``3p2``: 3 cpu, 2 pods). Pods ask for 1 cpu unless said
otherwise. A result reads ``n1:2 n2:1``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from worker_agent.api.pod import NodeAffinity
from worker_agent.api.topology_encoding import Domain
from worker_agent.api.workload import PodSetTopologyRequest, SliceTopologyConstraint
from worker_agent.engine.resources import PODS
from worker_agent.engine.tas import driver
from worker_agent.engine.tas.ask import PodDemand, PodSetAsk
from worker_agent.engine.tas.driver import Outcome, Situation
from worker_agent.engine.tas.flavor_room import FlavorRoom, NodeFacts
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.rules import TopologyRules
from worker_agent.engine.tas.topology_assignment import TopologyAssignment

H = "kubernetes.io/hostname"
HOSTS = ("block", "rack", H)
RACKS = ("block", "rack")
T1 = "b1/r1/n1=2 b1/r1/n2=2 b1/r2/n3=1 b1/r2/n4=2"

Taints = Mapping[str, str]
Labels = Mapping[str, Mapping[str, str]]


def room(
    nodes: str,
    levels: Sequence[str] = HOSTS,
    used: str = "",
    taints: Taints | None = None,
    labels: Labels | None = None,
) -> FlavorRoom:
    """``used``: cpu taken on leaves, as ``n1=2``; ``taints``: node -> value of a taint gpu=value:NoSchedule."""
    found = []
    for number, text in enumerate(nodes.split()):
        path, _, size = text.partition("=")
        cpu, _, pods = size.partition("p")
        name = path.split("/")[-1]
        facts = {**dict(zip(levels, path.split("/"), strict=False)), **(labels or {}).get(name, {})}
        taint = (("gpu", (taints or {})[name], "NoSchedule"),) if name in (taints or {}) else ()
        free = {"cpu": int(cpu) * 1000, PODS: int(pods) if pods else 100}
        found.append(NodeFacts(f"{name}-{number}", facts, taint, free))
    result = FlavorRoom("flavor", "default", (), levels, found)
    for text in used.split():
        leaf, _, cpu = text.partition("=")
        result.count(PlacedPods("flavor", (leaf,), (1,), {"cpu": int(cpu) * 1000}), 1)
    return result


def pods(count: int, name: str = "main", cpu: int = 1, group: str | None = None, **request: Any) -> PodSetAsk:
    """A pod set; ``request`` holds the fields of its topology request, ``slices`` its layers as ``rack*4 host*2``."""
    layers = [part.split("*") for part in request.pop("slices", "").split()]
    selector: dict[str, str] = request.pop("selector", {})
    affinity: NodeAffinity | None = request.pop("affinity", None)
    previous = request.pop("previous", None)
    implied = not request and not layers
    constraints = [SliceTopologyConstraint(topology=level, size=int(size)) for level, size in layers]
    asked = PodSetTopologyRequest(podset_slice_required_topology_constraints=constraints or None, **request)
    demand = PodDemand(node_selector=selector, affinity=affinity)
    before = assignment(previous) if previous else None
    return PodSetAsk(name, count, {"cpu": cpu * 1000}, asked, demand, implied, group, before)


def assignment(text: str, levels: Sequence[str] = (H,)) -> TopologyAssignment:
    """From ``n1:2 n2:1``."""
    parts = [part.rpartition(":") for part in text.split()]
    return TopologyAssignment(tuple(levels), tuple(Domain(tuple(path.split("/")), int(n)) for path, _, n in parts))


def place(
    where: FlavorRoom, *asks: PodSetAsk, empty: bool = False, situation: Situation | None = None, **rules: bool
) -> dict[str, str]:
    """Pod set -> its place, or the reason why it has none."""
    settings = TopologyRules(**rules)
    attempt = Attempt(settings, empty=empty, scored=settings.preferred_affinity)
    found = driver.place_all(where, asks, situation or Situation(), attempt)
    return {name: told(outcome) for name, outcome in found.items()}


def told(outcome: Outcome) -> str:
    if outcome.assignment is None:
        return outcome.reason
    return " ".join(f"{'/'.join(domain.values)}:{domain.pods}" for domain in outcome.assignment.domains)


def replaced(where: FlavorRoom, before: str, node: str, ask: PodSetAsk) -> str:
    """The place of a pod set after a node failed, or why there is none."""
    situation = Situation(unhealthy_node=node, existing={ask.name: assignment(before)})
    return place(where, ask, situation=situation)[ask.name]


def grown(where: FlavorRoom, *asks: PodSetAsk) -> dict[str, str]:
    """Places of a bigger slice of an elastic job."""
    return place(where, *asks, situation=Situation(elastic=True))

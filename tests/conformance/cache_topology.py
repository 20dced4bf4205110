"""Recorded topology placements: one flavor's nodes, pod sets placed together (conformance/README, cache)."""

from tests.conformance import engine_objects
from tests.conformance.case import Document
from worker_agent.api.pod import Affinity, Node, Pod, Toleration
from worker_agent.api.workload import PodSetTopologyRequest, Workload
from worker_agent.engine import policy
from worker_agent.engine.node_room import NodeRoom
from worker_agent.engine.resources import PODS
from worker_agent.engine.tas import balanced, driver, node_facts, workload_facts
from worker_agent.engine.tas.ask import NO_REQUEST, PodDemand, PodSetAsk
from worker_agent.engine.tas.balanced import Node as Domain
from worker_agent.engine.tas.driver import Outcome
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.topology_assignment import TopologyAssignment, decode


def find(case: Document) -> list[str]:
    resolved = policy.resolve(case["featureGates"])
    room = _room(case, resolved.topology.overlapping_flavors)
    asks = [_ask(pod_set) for pod_set in case["podSets"]]
    workload = engine_objects.decode(case["workload"], Workload) if case.get("workload") else None
    attempt = Attempt(resolved.topology, scored=resolved.topology.preferred_affinity)
    situation = driver.Situation(elastic=resolved.topology.elastic)
    if workload is not None:
        situation = workload_facts.situation(workload, resolved, elastic=resolved.topology.elastic)
    found = driver.place_all(room, asks, situation, attempt)
    differences = []
    for name, wanted in case["expect"].items():
        outcome = found.get(name, Outcome(None))
        expected = (wanted.get("assignment") or None, wanted.get("failureReason") or "")
        actual = (_document(outcome.assignment), outcome.reason)
        if expected != actual:
            differences.append(f"{name}: expected {expected}, got {actual}")
    return differences


def _room(case: Document, overlapping: bool) -> FlavorRoom:
    nodes = NodeRoom()
    for document in case["nodes"]:
        nodes.put_node(engine_objects.decode(document, Node))
    for document in case["pods"] or ():
        nodes.put_pod(engine_objects.decode(document, Pod))
    labels = case["nodeLabels"] or {}
    facts = [node_facts.of(row, nodes) for row in nodes.nodes.values()]
    known = [f for f in facts if f is not None and node_facts.belongs(f.labels, labels, case["levels"])]
    room = FlavorRoom("flavor", case["topologyName"], (), case["levels"], known)
    siblings = overlapping and room.tree.hostname
    for usage in case["priorFlavorUsage"] if siblings else case["priorOwnUsage"]:
        leaf = usage["values"][-1] if room.tree.hostname else ",".join(usage["values"])
        requests = {**usage["singlePodRequests"], PODS: 1}
        room.count(PlacedPods("flavor", (leaf,), (usage["count"],), requests), 1)
    if siblings:
        for leaf, amounts in (case["aggregatedDomainUsages"] or {}).items():
            room.count(PlacedPods("flavor", (leaf,), (1,), amounts), 1)
    return room


def _ask(document: Document) -> PodSetAsk:
    request, affinity = document.get("topologyRequest"), document.get("nodeAffinity")
    asked = engine_objects.decode(request, PodSetTopologyRequest) if request else NO_REQUEST
    demand = PodDemand(
        [engine_objects.decode(t, Toleration) for t in document.get("tolerations") or ()],
        document.get("nodeSelector") or {},
        engine_objects.decode({"nodeAffinity": affinity}, Affinity).node_affinity if affinity else None,
    )
    return PodSetAsk(
        document.get("name") or "",
        document["count"],
        document["requests"] or {},
        asked,
        demand,
        implied=bool(document.get("implied")),
        group=document.get("podSetGroupName"),
        previous=decode(document.get("previousAssignment")),
    )


def _document(assignment: TopologyAssignment | None) -> Document | None:
    if assignment is None:
        return None
    domains = [{"count": domain.pods, "values": list(domain.values)} for domain in assignment.domains]
    return {"domains": domains, "levels": list(assignment.levels)}


# -- balanced placement on hand-made domains -------------------------------------------------------------------------


def optimal_set(case: Document) -> list[str]:
    nodes = [_domain(document) for document in case["domains"]]
    found = balanced.optimal_set(
        nodes, case["workerCount"], case["leaderCount"], case["sliceSize"], by_entropy=case["prioritizeByEntropy"]
    )
    actual = sorted(node.path[-1] for node in found or ())
    expected = sorted(case["expect"]["domainsUnordered"] or ())
    return [] if expected == actual else [f"domains: expected {expected}, got {actual}"]


def hand_out(case: Document) -> list[str]:
    nodes = [_domain(document) for document in case["domains"]]
    found = balanced.hand_out(nodes, case["sliceCount"], case["leaderCount"], case["sliceSize"], case["threshold"])
    actual = {node.path[-1]: _figures(node) for node in found or ()}
    expected = case["expect"].get("domainStates") or {}
    return [] if expected == actual else [f"domains: expected {expected}, got {actual}"]


def _domain(document: Document) -> Domain:
    node = Domain(0, 0, tuple(document["levelValues"]), [])
    node.pods, node.pods_leader = document["podCount"], document["podCountWithLeader"]
    node.slices, node.slices_leader = document["sliceCount"], document["sliceCountWithLeader"]
    node.leader = document["leaderCount"]
    return node


def _figures(node: Domain) -> Document:
    return {
        "leaderCount": node.leader,
        "podCount": node.pods,
        "podCountWithLeader": node.pods_leader,
        "sliceCount": node.slices,
        "sliceCountWithLeader": node.slices_leader,
    }

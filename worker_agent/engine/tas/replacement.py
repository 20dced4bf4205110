"""A new place for the pods of a failed node, all others left where they are (spec/tas 15.4)."""

from collections.abc import Sequence
from dataclasses import replace

from worker_agent.api.topology_encoding import Domain
from worker_agent.api.workload import PodSetTopologyRequest
from worker_agent.engine.tas import placer
from worker_agent.engine.tas.ask import Layer, PodSetAsk, layers, requested_label
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.placer import Attempt, Refused
from worker_agent.engine.tas.topology_assignment import TopologyAssignment
from worker_agent.engine.tas.tree import TopologyTree


def replace_node(
    room: FlavorRoom, ask: PodSetAsk, existing: TopologyAssignment, node: str, attempt: Attempt
) -> tuple[TopologyAssignment, TopologyAssignment]:
    """(the whole new assignment, the part that is new). Raises Refused."""
    remaining = existing.without(node)
    missing = existing.pods - remaining.pods
    for domain in remaining.domains:
        if room.tree.leaf_of(domain.values) is None:
            stale = ",".join(domain.values)
            raise Refused(
                "Cannot replace the node, because the existing topologyAssignment is invalid, as it contains the "
                f"stale domain {stale}"
            )
    within = _bounds(room.tree, ask, remaining.domains, missing)
    bound = replace(ask, count=missing, request=_request(ask.request, missing) if within else ask.request)
    found, _ = placer.place(room, bound, None, attempt, within)
    if not found.domains:
        raise Refused(f"cannot find replacement assignment for unhealthy node: {node}")
    return remaining.merged(found, lambda values: full_path(room.tree, values)), found


def full_path(tree: TopologyTree, values: tuple[str, ...]) -> str:
    leaf = tree.leaf_of(values)
    return ",".join(values if leaf is None else tree.paths[leaf])


def _bounds(tree: TopologyTree, ask: PodSetAsk, remaining: Sequence[Domain], missing: int) -> str:
    """ID of the domain in which the replacement has to be; empty where it may be anywhere."""
    label = requested_label(ask.request, tree.levels, ask.implied)
    level = None if label is None else tree.level_of(label)
    if level is None or not remaining:
        return ""
    broken = next((layer for layer in reversed(layers(ask.request)) if missing % layer.size), None)
    if broken is not None:
        return _broken_slice(tree, broken, remaining, missing)
    if ask.request.required is not None:
        return _ancestor(tree, level, remaining[0])
    return ""


def _broken_slice(tree: TopologyTree, layer: Layer, remaining: Sequence[Domain], missing: int) -> str:
    level = tree.level_of(layer.level)
    if level is None:
        return ""
    pods: dict[str, int] = {}
    for domain in sorted(remaining, key=lambda domain: _path(tree, domain)):
        name = _ancestor(tree, level, domain)
        pods[name] = pods.get(name, 0) + domain.pods
    return next((name for name, count in pods.items() if (count + missing) % layer.size == 0), "")


def _path(tree: TopologyTree, domain: Domain) -> tuple[str, ...]:
    leaf = tree.leaf_of(domain.values)
    return domain.values if leaf is None else tree.paths[leaf]


def _ancestor(tree: TopologyTree, level: int, domain: Domain) -> str:
    path = _path(tree, domain)[: level + 1]
    return tree.leaf_id(path) if level == tree.lowest else ",".join(path)


def _request(request: PodSetTopologyRequest, missing: int) -> PodSetTopologyRequest:
    """Slices that the missing pods do not fill become the next smaller ones that they do, or none."""
    known = layers(request)
    if not known or missing % known[0].size == 0:
        return request
    whole = next((layer for layer in reversed(known) if missing % layer.size == 0), None)
    return PodSetTopologyRequest(
        required=request.required,
        preferred=request.preferred,
        unconstrained=request.unconstrained,
        pod_set_slice_required_topology=whole.level if whole else None,
        pod_set_slice_size=whole.size if whole else None,
    )

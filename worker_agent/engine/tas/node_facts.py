"""NodeFacts of a node as placement sees it, and which nodes belong to a flavor with a topology (spec/tas 5.1, 5.2)."""

from collections.abc import Iterable, Mapping

from worker_agent.engine.node_room import NodeRoom, NodeRow
from worker_agent.engine.tas import feasibility
from worker_agent.engine.tas.flavor_room import NodeFacts


def of(row: NodeRow, nodes: NodeRoom) -> NodeFacts | None:
    """None for a node that takes no pods: cordoned, or not known to be ready."""
    view = row.view
    ready = any(c.type == "Ready" and c.status == "True" for c in view.status.conditions or ())
    if view.spec.unschedulable or not ready:
        return None
    used = nodes.unplaced.get(view.metadata.name, {})
    free = {name: total - used.get(name, 0) for name, total in row.allocatable.items()}
    return NodeFacts(view.metadata.name, row.labels, feasibility.taint_set(view.spec.taints), free)


def differ(old: NodeRow | None, new: NodeRow | None) -> bool:
    """Whether pods that found no place may find one now; a heartbeat alone changes nothing (spec/tas 18)."""
    return (None if old is None else _telling(old)) != (None if new is None else _telling(new))


def _telling(row: NodeRow) -> tuple[object, ...]:
    view = row.view
    statuses = sorted((condition.type, condition.status) for condition in view.status.conditions or ())
    annotations = view.metadata.annotations
    return row.labels, annotations, view.spec.unschedulable, view.spec.taints, row.allocatable, statuses


def belongs(labels: Mapping[str, str], flavor_labels: Mapping[str, str], levels: Iterable[str]) -> bool:
    """Whether a node has the flavor's labels, and a value for each level."""
    return all(labels.get(key) == value for key, value in flavor_labels.items()) and all(
        key in labels for key in levels
    )

"""leaderworkerset.x-k8s.io/v1: a StatefulSet of leaders, and one of workers for each group."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from hub.local.simulation.operators.plan import Children, Kind, Plan, child, named, settled
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.resource_type import LEADER_WORKER_SETS, STATEFUL_SETS
from worker_agent.jobs.leader_worker_set import (
    GROUP_INDEX_LABEL,
    LEADER,
    LEADER_NAME_ANNOTATION,
    NAME_LABEL,
    WORKER,
    WORKER_INDEX_LABEL,
    group_size,
)


def decide(lws: Document, children: Children, now: datetime) -> Plan:
    """The pods of a group carry its index; a leader is worker 0 of its group."""
    name, replicas, size = lws["metadata"]["name"], get(lws, "spec.replicas", 1), group_size(lws)
    wanted: dict[str, Document] = {}
    for group in range(replicas):
        leader = f"{name}-{group}"
        labels = {NAME_LABEL: name, GROUP_INDEX_LABEL: str(group)}
        leader_template = at(lws, LEADER) or at(lws, WORKER, {})
        leader_labels = {**labels, WORKER_INDEX_LABEL: "0"}
        wanted[leader] = _set(lws, leader, leader_template, leader_labels, {}, 1)
        if size > 1:
            annotations = {LEADER_NAME_ANNOTATION: f"{leader}-0"}
            wanted[f"{leader}-w"] = _set(lws, f"{leader}-w", at(lws, WORKER, {}), labels, annotations, size - 1)
    sets = children[STATEFUL_SETS]
    missing, extra = settled(wanted, sets, STATEFUL_SETS)
    ready = sum(_group_is_ready(f"{name}-{group}", sets, size) for group in range(replicas))
    status = {"replicas": replicas, "readyReplicas": ready, "updatedReplicas": replicas}
    return Plan(create=missing, delete=extra, status=status)


def _set(
    lws: Document, name: str, template: Document, labels: dict[str, str], annotations: dict[str, str], replicas: int
) -> Document:
    for field, values in (("labels", labels), ("annotations", annotations)):
        present = at(template, ("metadata", field), {})
        template = put(template, ("metadata", field), {**present, **values})
    selector = {"matchLabels": labels | ({"role": name} if annotations else {"leader": name})}
    template = put(template, ("metadata", "labels"), {**template["metadata"]["labels"], **selector["matchLabels"]})
    spec = {"replicas": replicas, "serviceName": name, "selector": selector, "template": template}
    if annotations:
        spec["ordinals"] = {"start": 1}
    return child(lws, STATEFUL_SETS, name, labels=labels, spec=spec)


def _group_is_ready(leader: str, sets: Sequence[Document], size: int) -> bool:
    found = named(sets)
    names = [leader] if size == 1 else [leader, f"{leader}-w"]
    return all(
        name in found and get(found[name], "status.readyReplicas", 0) >= get(found[name], "spec.replicas", 1)
        for name in names
    )


OPERATOR: Final = Kind(LEADER_WORKER_SETS, (STATEFUL_SETS,), decide)

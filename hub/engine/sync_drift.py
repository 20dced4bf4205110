"""Copies whose spec no longer says what the manager's Workload says: brought in line, or removed (spec S5)."""

from collections.abc import Mapping

from hub.engine import remote_objects, sync_refusal, sync_removal
from hub.engine.intents import HubIntent
from hub.engine.remote_group import Remote, RemoteGroup, Sight
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, PatchObject


def align(group: RemoteGroup) -> tuple[list[HubIntent], Mapping[str, Remote]]:
    """The writes, and the connected clusters as they are after them: a removed copy is absent from there on.

    The mapping is the group's own when no copy was removed.
    """
    intents: list[HubIntent] = []
    connected: dict[str, Remote] = {}
    for cluster, copy in group.copies():
        if remote_objects.same_spec(copy.document, group.local.document) or sync_refusal.is_refused(group, copy):
            continue
        spec = _updated_spec(group, copy)
        if spec is None:
            intents += sync_removal.on_cluster(group, cluster, group.connected[cluster])
            connected = connected or dict(group.connected)
            connected[cluster] = Remote()
            continue
        intents.append(
            PatchObject(
                resource=WORKLOADS,
                before=copy.document,
                after={**copy.document, "spec": spec},
                field_manager=MULTIKUEUE_MANAGER,
                cluster=cluster,
            )
        )
    return intents, connected or group.connected


def _updated_spec(group: RemoteGroup, copy: Sight) -> Document | None:
    """The copy's new spec where the difference may be written in place: an elastic scale-down or a new priority."""
    local, remote = group.local, copy
    spec: Document | None = None
    if group.elastic and is_scale_down(local.view, remote.view):
        spec = dict(local.document.get("spec") or {})
    if _priority_may_change(group, copy):
        spec = _with_priority(spec or dict(remote.document.get("spec") or {}), local.document)
    if spec is None:
        return None
    if group.policy.orchestrated_preemption:
        spec = _with_gates_of(spec, remote.document)
    return spec


def is_scale_down(local: Workload, remote: Workload) -> bool:
    """Among the pod sets both sides have by name, at least one is smaller locally and none is larger."""
    counts = {pod_set.name: pod_set.count for pod_set in remote.spec.pod_sets}
    pairs = [(pod_set.count, counts[pod_set.name]) for pod_set in local.spec.pod_sets if pod_set.name in counts]
    return any(here < there for here, there in pairs) and all(here <= there for here, there in pairs)


def _priority_may_change(group: RemoteGroup, copy: Sight) -> bool:
    local, remote = group.local.view, copy.view
    reference = remote.spec.priority_class_ref
    if reference is None or reference.kind != names.WORKLOAD_PRIORITY_CLASS_KIND:
        return False
    own = local.spec.priority_class_ref
    if own is not None and own.kind == names.POD_PRIORITY_CLASS_KIND:
        return False
    boosted = group.policy.priority_boost
    renamed = (own.name if own else "") != reference.name
    return renamed or effective_priority(local, boosted=boosted) != effective_priority(remote, boosted=boosted)


def effective_priority(workload: Workload, *, boosted: bool) -> int:
    priority = workload.spec.priority or 0
    if not boosted:
        return priority
    try:
        return priority + int(workload.metadata.annotation(names.PRIORITY_BOOST_ANNOTATION) or 0)
    except ValueError:
        return priority


def _with_priority(spec: Document, local: Document) -> Document:
    source = local.get("spec") or {}
    kept = {name: value for name, value in spec.items() if name not in ("priorityClassRef", "priority")}
    return kept | {name: source[name] for name in ("priorityClassRef", "priority") if source.get(name) is not None}


def _with_gates_of(spec: Document, remote: Document) -> Document:
    gates = (remote.get("spec") or {}).get("preemptionGates")
    kept = {name: value for name, value in spec.items() if name != "preemptionGates"}
    return {**kept, "preemptionGates": gates} if gates else kept

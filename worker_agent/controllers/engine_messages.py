"""What the rest of the program says to the engine. Small values, so that the engine could stand in another process."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import PODS, WORKLOADS, ResourceType
from worker_agent.api.workload import Workload


@dataclass(frozen=True, slots=True)
class Put:
    """An object was made or changed; ``object`` is its typed view."""

    resource: ResourceType
    object: Any


@dataclass(frozen=True, slots=True)
class Remove:
    """An object is gone."""

    resource: ResourceType
    key: Key


@dataclass(frozen=True, slots=True)
class Forget:
    """An admission that the cycle counted as given could not be written."""

    key: Key


@dataclass(frozen=True, slots=True)
class Ask:
    """A question answered between two cycles. ``question(state, policy, now)``; ``answer(result, error)`` is called in
    the engine's thread with one of the two being None."""

    question: Callable[[Any, Any, datetime], Any]
    answer: Callable[[Any, BaseException | None], None]


@dataclass(frozen=True, slots=True)
class Lead:
    """Run cycles from now on, or (False) only keep the state and the view up to date, as a follower does."""

    leading: bool


Message = Put | Remove | Forget | Ask | Lead

_ENDED: Final = ("Succeeded", "Failed")
_ON_ITS_WAY: Final = (names.FINISHED, names.EVICTED, names.PODS_READY, names.DEACTIVATION_TARGET)
"""Conditions by which others may get in: where admission waits for pods, those that are ready let the next one in."""


def is_urgent(message: Message) -> bool:
    """Whether somebody waits for it, or may get in by it: a pod that comes or goes on, or a Workload that has quota,
    only takes room. Most of these tell of a Workload what the engine decided itself."""
    if not isinstance(message, Put):
        return True
    if message.resource is PODS:
        return _gives_room(message.object)
    return message.resource is not WORKLOADS or not _only_holds(message.object)


def _gives_room(pod: Pod) -> bool:
    return pod.status.phase in _ENDED or pod.metadata.deletion_timestamp is not None


def _only_holds(workload: Workload) -> bool:
    """Whether it has its quota, all of it, and is neither on its way out nor to be looked at once more."""
    status = workload.status
    if status.admission is None or status.reclaimable_pods or status.unhealthy_nodes or workload.spec.active is False:
        return False
    assigned = {each.name: each.count for each in status.admission.pod_set_assignments}
    if any(assigned.get(each.name) != each.count for each in workload.spec.pod_sets):
        return False
    if any(each.delayed_topology_request for each in status.admission.pod_set_assignments):
        return False
    true = {condition.type for condition in status.conditions or () if condition.is_true}
    return names.QUOTA_RESERVED in true and true.isdisjoint(_ON_ITS_WAY)

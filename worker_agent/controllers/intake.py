"""From watches to the engine: one informer per kind, each change handed on as a message, and the gate before it all.

The engine is told everything before it runs its first cycle: nothing is decided on half a world.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from worker_agent.api import need
from worker_agent.api import resource_type as kinds
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.device import DeviceClass, ResourceClaimTemplate, ResourceSlice
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Namespace
from worker_agent.api.pod import LimitRange, Node, Pod, PriorityClass, RuntimeClass
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.topology import Topology
from worker_agent.api.workload import Workload
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.controllers import engine_work
from worker_agent.controllers.engine_messages import Message, Put, Remove
from worker_agent.kube.client import Client
from worker_agent.kube.informer import Event, Informer, Keep, document

T = TypeVar("T")


class SyncTimeout(Exception):
    """Some kinds could not be read in time; the text names them and the last error of each."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How one kind is read. Nodes and pods are many and only the engine looks at them: their JSON is not kept."""

    type: type[Any]
    keep: Keep = Keep.BOTH


FOLLOWED: Final[dict[ResourceType, Followed]] = {
    kinds.NAMESPACES: Followed(Namespace),
    kinds.LIMIT_RANGES: Followed(LimitRange),
    kinds.PRIORITY_CLASSES: Followed(PriorityClass),
    kinds.RUNTIME_CLASSES: Followed(RuntimeClass),
    kinds.NODES: Followed(Node, Keep.DECODED),
    kinds.PODS: Followed(Pod, Keep.DECODED),
    kinds.TOPOLOGIES: Followed(Topology),
    kinds.RESOURCE_FLAVORS: Followed(ResourceFlavor),
    kinds.ADMISSION_CHECKS: Followed(AdmissionCheck),
    kinds.COHORTS: Followed(Cohort),
    kinds.CLUSTER_QUEUES: Followed(ClusterQueue),
    kinds.LOCAL_QUEUES: Followed(LocalQueue),
    kinds.WORKLOAD_PRIORITY_CLASSES: Followed(WorkloadPriorityClass),
    kinds.WORKLOADS: Followed(Workload),
}
"""Every kind the agent follows beside the jobs. The engine hears of those in ``engine_work.KINDS``."""

DEVICES: Final[dict[ResourceType, Followed]] = {
    kinds.DEVICE_CLASSES: Followed(DeviceClass, Keep.DECODED),
    kinds.RESOURCE_SLICES: Followed(ResourceSlice, Keep.DECODED),
    kinds.RESOURCE_CLAIM_TEMPLATES: Followed(ResourceClaimTemplate, Keep.DECODED),
}
"""Followed as well where device claims count as quota and the server has them."""

NEEDS: Final = need.followed((*FOLLOWED, *DEVICES))


def decoder(type_: type[T]) -> Callable[[bytes], T]:
    return msgspec.json.Decoder(type_, strict=False).decode


def followed(resource: ResourceType) -> Followed:
    """How a kind of ``FOLLOWED`` or ``DEVICES`` is read."""
    return FOLLOWED.get(resource) or DEVICES[resource]


def informer(client: Client, resource: ResourceType, *, whole: bool = False) -> Informer[Any]:
    """The informer of one kind of ``FOLLOWED`` or ``DEVICES``; with ``whole`` the JSON is kept whatever they say."""
    how = followed(resource)
    if whole:
        return Informer(client, resource, decoder(how.type), keep=Keep.BOTH)
    return Informer(client, resource, decoder(how.type), keep=how.keep)


def informers(
    client: Client, jobs: Iterable[ResourceType] = (), *, whole_pods: bool = False
) -> dict[ResourceType, Informer[Any]]:
    """One informer per kind of ``FOLLOWED`` and per job kind (as documents); ``whole_pods`` keeps the JSON of pods."""
    made: dict[ResourceType, Informer[Any]] = {
        resource: informer(client, resource, whole=whole_pods and resource == kinds.PODS) for resource in FOLLOWED
    }
    for resource in jobs:
        made[resource] = Informer(client, resource, document, keep=Keep.DECODED)
    return made


def feed(source: Informer[Any], post: Callable[[Message], None]) -> None:
    """Tell the engine of every change of one kind, if it wants to know of that kind."""
    resource = source.resource
    if resource not in engine_work.KINDS:
        return

    def hand_on(event: Event[Any]) -> None:
        post(Remove(resource, event.key) if event.new is None else Put(resource, event.new))

    source.add_handler(hand_on)


async def synced(sources: Iterable[Informer[Any]], seconds: float) -> None:
    """Return when every informer has its first list. Raises SyncTimeout after ``seconds``."""
    waiting = list(sources)
    try:
        async with asyncio.timeout(seconds):
            for source in waiting:
                await source.synced.wait()
    except TimeoutError:
        late = [source for source in waiting if not source.synced.is_set()]
        told = "; ".join(f"{s.resource.plural}: {s.last_error or 'no answer'}" for s in late)
        raise SyncTimeout(f"not read within {seconds:g} s: {told}") from None

"""What is followed on a worker: Workloads and jobs for the synchronisation, and what its capacity can be judged by."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from worker_agent.api import knowledge, names, resource_type
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Condition, Object, View
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.informer import Informer, Keep

KNOWLEDGE: Final = knowledge.FOLLOWED
"""Followed where the credential allows it; without them dispatch knows less, and the cluster's entry says what."""


class _Status(View):
    conditions: list[Condition] | None = None


class RemoteObject(Object):
    """The little that is read of every remote object as it comes: whose it is, and how it stands."""

    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(RemoteObject).decode


@dataclass(frozen=True, slots=True)
class Watches:
    """The informers of one worker; the required ones must all run for it to count as connected."""

    required: dict[ResourceType, Informer[RemoteObject]]
    knowledge: dict[ResourceType, Informer[RemoteObject]]
    handlers: list[Callable[[Any], None]] = field(default_factory=list)

    def all(self) -> Iterable[tuple[ResourceType, Informer[RemoteObject]]]:
        yield from self.required.items()
        yield from self.knowledge.items()


def make(client: Client, kinds: Iterable[JobKind], origin: str, silence: float) -> Watches:
    """Informers for all Workloads, our jobs, and the knowledge; ``silence`` seconds without a byte end a stream."""
    ours = f"{names.MULTIKUEUE_ORIGIN_LABEL}={origin}"

    def informer(resource: ResourceType, selector: str = "") -> Informer[RemoteObject]:
        return Informer(client, resource, _decode, label_selector=selector, keep=Keep.RAW, silence=silence)

    required = {resource_type.WORKLOADS: informer(resource_type.WORKLOADS)}
    required |= {kind.resource: informer(kind.resource, ours) for kind in kinds}
    return Watches(required, {resource: informer(resource) for resource in KNOWLEDGE})

"""A cluster as it is at one moment, for the checks: read once, with the rights of who asks."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from hub.app import roles
from hub.app.doctor import program
from worker_agent.aggregated.registration import API_SERVICES, SERVICES
from worker_agent.api import resource_type as kinds
from worker_agent.api.document import Document
from worker_agent.api.need import Need, Place
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube import errors
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError, Forbidden, NotFound
from worker_agent.kube.transport import Request

ENDPOINT_SLICES: Final = ResourceType("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
READ: Final[tuple[ResourceType, ...]] = (
    kinds.CUSTOM_RESOURCE_DEFINITIONS,
    kinds.MUTATING_WEBHOOKS,
    kinds.VALIDATING_WEBHOOKS,
    API_SERVICES,
    kinds.DEPLOYMENTS,
    SERVICES,
    ENDPOINT_SLICES,
    kinds.LEASES,
    kinds.NODES,
    kinds.CLUSTER_QUEUES,
    kinds.LOCAL_QUEUES,
    kinds.COHORTS,
    kinds.RESOURCE_FLAVORS,
    kinds.ADMISSION_CHECKS,
    kinds.TOPOLOGIES,
    kinds.WORKLOADS,
    kinds.CLUSTER_CAPACITIES,
    kinds.MULTIKUEUE_CLUSTERS,
    kinds.MULTIKUEUE_CONFIGS,
)
NAMESPACE: Final = "fedhub-system"
"""Of our manifests."""
NAMESPACE_OUTSIDE: Final = "kueue-system"
"""Where a program looks that is told of none by its settings."""
_AT_A_TIME: Final = 16
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Role(StrEnum):
    """What runs on a cluster."""

    HUB = "hub"
    AGENT = "agent"


@dataclass(slots=True)
class Snapshot:
    """``objects`` by resource; a kind that is not served has none. ``unreadable``: why others were not read.

    ``denied`` are needs that the program's account has no right to; None where nobody would tell. ``now`` is the
    server's own time; ``clock_error`` how far it is from the asker's, in seconds, give or take the time of a request.
    """

    cluster: str
    role: Role
    namespace: str
    now: datetime
    clock_error: float = 0.0
    objects: Mapping[ResourceType, Sequence[Document]] = field(default_factory=dict)
    unreadable: dict[ResourceType, str] = field(default_factory=dict)
    secrets: Mapping[str, Document] | None = None
    """Of the program's namespace, by name; None where they may not be read."""
    denied: Sequence[Need] | None = None

    @property
    def usual(self) -> str:
        """What the program is called in our manifests."""
        return roles.HUB if self.role is Role.HUB else roles.AGENT

    @property
    def deployment(self) -> Document | None:
        """The program's, whatever it is called; None where it runs outside of the cluster, or not at all."""
        return program.deployment(self.all(kinds.DEPLOYMENTS), self.namespace, self.command, self.usual)

    @property
    def command(self) -> str:
        return "fedhub" if self.role is Role.HUB else "fedhub-agent"

    @property
    def program(self) -> str:
        """Name of the program's Deployment."""
        found = self.deployment
        return str(found["metadata"]["name"]) if found is not None else self.usual

    @property
    def account(self) -> str:
        """Name of the program's service account."""
        return program.account(self.deployment, self.usual)

    def is_outside(self) -> bool:
        """Whether the program runs outside of this cluster: its webhooks are asked by an address of their own."""
        hooks = [
            hook
            for resource in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
            for each in self.all(resource)
            if each["metadata"]["name"].startswith((self.usual, "fedhub-", "kueue-"))
            for hook in each.get("webhooks") or ()
        ]
        return self.deployment is None and any((hook.get("clientConfig") or {}).get("url") for hook in hooks)

    def all(self, resource: ResourceType) -> Sequence[Document]:
        return self.objects.get(resource) or ()

    def find(self, resource: ResourceType, name: str, namespace: str = "") -> Document | None:
        for each in self.all(resource):
            metadata = each["metadata"]
            if (metadata.get("namespace", ""), metadata["name"]) == (namespace, name):
                return each
        return None

    def readable(self, *resources: ResourceType) -> bool:
        return not any(resource in self.unreadable for resource in resources)


async def read(client: Client, cluster: str, role: Role, namespace: str) -> Snapshot:
    """An empty ``namespace`` is the one that the program is installed in, as far as the cluster tells. Raises
    ConnectionError where the server cannot be reached, Unauthorized where it knows nobody."""
    now, clock_error = await _time(client)
    snapshot = Snapshot(cluster, role, namespace, now, clock_error)
    listed = await asyncio.gather(*(_listed(client, resource) for resource in READ))
    snapshot.objects = {
        resource: found for resource, found in zip(READ, listed, strict=True) if not isinstance(found, str)
    }
    snapshot.unreadable = {resource: why for resource, why in zip(READ, listed, strict=True) if isinstance(why, str)}
    snapshot.namespace = namespace or _installed_in(snapshot)
    secrets = await _listed(client, kinds.SECRETS, snapshot.namespace)
    if not isinstance(secrets, str):
        snapshot.secrets = {each["metadata"]["name"]: each for each in secrets}
    snapshot.denied = await _denied(client, snapshot)
    return snapshot


def _installed_in(snapshot: Snapshot) -> str:
    found = program.namespace(snapshot.all(kinds.DEPLOYMENTS), snapshot.command)
    return found or (NAMESPACE_OUTSIDE if snapshot.is_outside() else NAMESPACE)


async def _listed(client: Client, resource: ResourceType, namespace: str = "") -> list[Document] | str:
    """The objects, or why they may not be read."""
    try:
        return [msgspec.json.decode(item) for item in (await client.list(resource, namespace)).items]
    except NotFound:
        return []
    except (Forbidden, errors.ServerError) as error:
        return error.message


async def _time(client: Client) -> tuple[datetime, float]:
    """The server's time, and how far it is ahead of ours: servers tell whole seconds, cut off."""
    before = client.clock.now()
    response = await client.transport.request(Request("GET", "/version", headers={"accept": "application/json"}))
    body = await response.read()
    if response.status == 401:
        raise errors.from_body(response.status, body)
    after = client.clock.now()
    told = response.headers.get("date", "")
    if not told:
        return after, 0.0
    there = parsedate_to_datetime(told).astimezone(UTC)
    middle = before + (after - before) / 2
    return there, (there - middle).total_seconds() + 0.5


async def _denied(client: Client, snapshot: Snapshot) -> Sequence[Need] | None:
    limit = asyncio.Semaphore(_AT_A_TIME)
    needs = [need for need in roles.PROGRAMS[snapshot.usual]() if not need.outside and not need.names]
    asked = [
        (group, resource, verb, place)
        for group, resource, verb, place in sorted(
            {(need.group, need.resource, verb, need.place) for need in needs for verb in need.verbs}
        )
        if place is not Place.FRONT_PROXY
    ]

    async def allowed(group: str, resource: str, verb: str, place: Place) -> bool:
        async with limit:
            return await _may(client, snapshot, (group, resource, verb, place))

    try:
        answers = await asyncio.gather(*(allowed(*each) for each in asked))
    except ApiError:
        return None
    return [
        Need(group, resource, frozenset({verb}), place)
        for (group, resource, verb, place), answer in zip(asked, answers, strict=True)
        if not answer
    ]


async def _may(client: Client, snapshot: Snapshot, asked: tuple[str, str, str, Place]) -> bool:
    group, resource, verb, place = asked
    plural, _, subresource = resource.partition("/")
    attributes: dict[str, Any] = {"group": group, "resource": plural, "subresource": subresource, "verb": verb}
    if place is Place.OWN_NAMESPACE:
        attributes["namespace"] = snapshot.namespace
    account = f"system:serviceaccount:{snapshot.namespace}:{snapshot.account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{snapshot.namespace}", "system:authenticated"]
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "groups": groups, "resourceAttributes": attributes},
    }
    body = msgspec.json.encode(review)
    answer = msgspec.json.decode(
        await client.raw(Request("POST", _REVIEWS, headers={"content-type": "application/json"}, body=body))
    )
    return bool((answer.get("status") or {}).get("allowed"))

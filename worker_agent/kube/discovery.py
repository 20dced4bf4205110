"""What an API server serves, and which of it a user means by ``job``, ``jobs.batch``, ``cq`` or ``JobSet``."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec

from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound
from worker_agent.kube.transport import Request


class UnknownTypeError(LookupError):
    """The server serves nothing of that name."""


@dataclass(frozen=True, slots=True)
class Served:
    """One served resource and the other names it goes by."""

    resource: ResourceType
    singular: str
    short_names: tuple[str, ...] = ()

    def is_called(self, name: str) -> bool:
        names = (self.resource.plural, self.singular, self.resource.kind.lower(), *self.short_names)
        return name in names


async def of_version(client: Client, api_version: str) -> list[Served]:
    """What one group and version serves; nothing where the server has it not. Raises ApiError, ConnectionError."""
    path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    try:
        found = msgspec.json.decode(await client.raw(Request("GET", path)))
    except NotFound:
        return []
    group, _, version = api_version.rpartition("/")
    return [_served(group, version, each) for each in found.get("resources") or () if "/" not in each["name"]]


async def of_kind(client: Client, api_version: str, kind: str) -> ResourceType | None:
    """The resource of an object's apiVersion and kind."""
    served = await of_version(client, api_version)
    return next((each.resource for each in served if each.resource.kind == kind), None)


async def named(client: Client, text: str) -> ResourceType:
    """The resource called ``TYPE``, ``TYPE.GROUP`` or ``TYPE.VERSION.GROUP``, in any of its names.

    Core resources come first, then groups in the server's order, each in its preferred version. Raises
    UnknownTypeError.
    """
    asked = text.lower()
    for version in ["v1", *await _preferred(client)]:
        group, _, number = version.rpartition("/")
        for each in await of_version(client, version):
            for suffix in ("", f".{group}", f".{number}.{group}"):
                if (not suffix or group) and asked.endswith(suffix) and each.is_called(asked.removesuffix(suffix)):
                    return each.resource
    raise UnknownTypeError(f'the server doesn\'t have a resource type "{text}"')


async def singulars(client: Client, api_versions: set[str]) -> dict[tuple[str, str], str]:
    """By apiVersion and kind, what the server calls one such object; what it does not serve is left out."""
    versions = sorted(api_versions)
    found = await asyncio.gather(*(of_version(client, version) for version in versions))
    return {
        (version, each.resource.kind): each.singular
        for version, served in zip(versions, found, strict=True)
        for each in served
        if each.singular
    }


async def _preferred(client: Client) -> list[str]:
    groups = msgspec.json.decode(await client.raw(Request("GET", "/apis"))).get("groups") or ()
    return [group["preferredVersion"]["groupVersion"] for group in groups]


def _served(group: str, version: str, entry: dict[str, Any]) -> Served:
    resource = ResourceType(group, version, entry["kind"], entry["name"], namespaced=bool(entry["namespaced"]))
    return Served(resource, entry.get("singularName") or "", tuple(entry.get("shortNames") or ()))

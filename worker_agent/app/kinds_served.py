"""Which kinds an API server serves: job kinds may be installed before or long after the agent."""

import asyncio
from contextlib import suppress
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, NotFound
from worker_agent.kube.transport import Request

FIRST_WAIT = 1.0
LONGEST_WAIT = 120.0
"""Seconds between looks for a kind that is not there: 1, 2, 4 ... 120."""


class _Resource(msgspec.Struct):
    name: str = ""


class _ResourceList(msgspec.Struct):
    resources: list[_Resource] = []


class _Version(msgspec.Struct, rename="camel"):
    group_version: str = ""


class _Group(msgspec.Struct):
    versions: list[_Version] = []


class _GroupList(msgspec.Struct):
    groups: list[_Group]


async def is_served(client: Client, resource: ResourceType) -> bool:
    """Raises ApiError, ConnectionError where the server does not say."""
    root = "/apis" if resource.group else "/api"
    try:
        body = await client.raw(Request("GET", f"{root}/{resource.api_version}"))
    except NotFound:
        return False
    listed = msgspec.json.decode(body, type=_ResourceList)
    return any(found.name == resource.plural for found in listed.resources)


async def until_served(client: Client, resource: ResourceType, clock: Clock) -> None:
    """Return once the kind is there. However many kinds are waited for side by side, one question serves them all."""
    wait = FIRST_WAIT
    while not (await _may_be_served(client, resource) and await is_served_now(client, resource)):
        await clock.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT)


async def is_served_now(client: Client, resource: ResourceType) -> bool:
    """False also where the server does not say."""
    try:
        return await is_served(client, resource)
    except (ConnectionError, OSError, ApiError):
        return False


_asked: Final[WeakKeyDictionary[Client, asyncio.Future[frozenset[str] | None]]] = WeakKeyDictionary()
"""By client, the question after all groups that is on its way."""


async def _may_be_served(client: Client, resource: ResourceType) -> bool:
    """False where the server has no such group and version at all."""
    if not resource.group:
        return True
    under_way = _asked.get(client)
    known = await (asyncio.shield(under_way) if under_way is not None else _ask(client))
    return known is None or resource.api_version in known


async def _ask(client: Client) -> frozenset[str] | None:
    """The groups with their versions; None where the server does not say. Whoever asks meanwhile gets this answer."""
    question = _asked[client] = asyncio.get_running_loop().create_future()
    found: frozenset[str] | None = None
    try:
        with suppress(ConnectionError, OSError, ApiError, msgspec.DecodeError):
            listed = msgspec.json.decode(await client.raw(Request("GET", "/apis")), type=_GroupList)
            found = frozenset(version.group_version for group in listed.groups for version in group.versions)
    finally:
        del _asked[client]
        question.set_result(found)  # None too where the asker was cancelled: the others ask for themselves
    return found

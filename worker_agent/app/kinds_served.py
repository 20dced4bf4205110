"""Which kinds an API server serves: job kinds may be installed before or long after the agent."""

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
    """Return once the kind is there."""
    wait = FIRST_WAIT
    while not await is_served_now(client, resource):
        await clock.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT)


async def is_served_now(client: Client, resource: ResourceType) -> bool:
    """False also where the server does not say."""
    try:
        return await is_served(client, resource)
    except (ConnectionError, OSError, ApiError):
        return False

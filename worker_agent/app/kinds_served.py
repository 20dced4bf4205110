"""Which kinds an API server serves: job kinds may be installed before or long after the agent.

Whoever looks for a kind goes by what others have just been told, as most kinds of a cluster are looked for side by
side, and most of them are never there.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, NotFound
from worker_agent.kube.transport import Request

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 80.0
"""Seconds between looks for a kind that is not there: 1, 2, 4 ... 80."""
LATE: Final = 0.5
"""An answer serves whoever looks when it is no older than this part of the time between two looks: so kinds looked for
at different times come to be looked for together, and one is found two minutes after it was installed at the latest."""

GROUPS: Final = "/apis"


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


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the server said at one path, or will have said; None where it did not say."""

    asked_at: float
    names: asyncio.Future[frozenset[str] | None]

    def serves(self, instant: float, oldest: float) -> bool:
        """Whether somebody who looks at ``instant`` may go by it."""
        if not self.names.done():
            return True
        return self.names.result() is not None and instant - self.asked_at <= oldest


_answers: Final[WeakKeyDictionary[Client, dict[str, _Answer]]] = WeakKeyDictionary()
"""By client and path, the last question."""


async def is_served(client: Client, resource: ResourceType) -> bool:
    """As the server says now. Raises ApiError, ConnectionError where it does not say."""
    try:
        body = await client.raw(Request("GET", _path(resource)))
    except NotFound:
        return False
    return resource.plural in _plurals(body)


async def look(client: Client, resource: ResourceType, oldest: float = FIRST_WAIT * LATE) -> bool | None:
    """Whether the kind is served, by answers at most ``oldest`` seconds old; None where the server does not say.

    However many kinds are looked for side by side, one question serves them all.
    """
    if resource.group:
        known = await _answer(client, GROUPS, _versions, oldest)
        if known is not None and resource.api_version not in known:
            return False
    names = await _answer(client, _path(resource), _plurals, oldest)
    return None if names is None else resource.plural in names


async def until_served(client: Client, resource: ResourceType, clock: Clock) -> None:
    """Return once the kind is there."""
    wait = waited = FIRST_WAIT
    while not await look(client, resource, waited * LATE):
        await clock.sleep(wait)
        waited, wait = wait, min(wait * 2, LONGEST_WAIT)


async def _answer(
    client: Client, path: str, read: Callable[[bytes], frozenset[str]], oldest: float
) -> frozenset[str] | None:
    answers = _answers.setdefault(client, {})
    now = client.clock.monotonic()
    last = answers.get(path)
    if last is None or not last.serves(now, oldest):
        last = answers[path] = _Answer(now, asyncio.get_running_loop().create_future())
        found: frozenset[str] | None = None
        try:
            found = await _ask(client, path, read)
        finally:
            last.names.set_result(found)  # None too where the asker was cancelled: the others look again
    return await asyncio.shield(last.names)


async def _ask(client: Client, path: str, read: Callable[[bytes], frozenset[str]]) -> frozenset[str] | None:
    try:
        return read(await client.raw(Request("GET", path)))
    except NotFound:
        return frozenset() if path != GROUPS else None
    except (ConnectionError, OSError, ApiError, msgspec.DecodeError):
        return None


def _path(resource: ResourceType) -> str:
    return f"{GROUPS if resource.group else '/api'}/{resource.api_version}"


def _versions(body: bytes) -> frozenset[str]:
    listed = msgspec.json.decode(body, type=_GroupList)
    return frozenset(version.group_version for group in listed.groups for version in group.versions)


def _plurals(body: bytes) -> frozenset[str]:
    listed = msgspec.json.decode(body, type=_ResourceList)
    return frozenset(found.name for found in listed.resources)

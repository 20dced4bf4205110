"""Asks workers for what a job's pods need there before the job is sent: what is missing is told, not waited for."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from hub.clusters.worker_connection import WorkerConnection
from hub.controllers.dispatch_turn import Turn
from hub.engine import evaluation, needs
from hub.engine.evaluation import impossible
from hub.engine.needs import Need
from worker_agent.api import names
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, NotFound
from worker_agent.kube.transport import Request

log = logging.getLogger(__name__)

FOUND_SECONDS: Final = 60.0
"""How long an object that was there is taken to be there."""

METADATA_ONLY: Final = {"accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METADATA_OF_LIST: Final = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
"""API servers answer 406 where the form of one object is asked of a list."""
MISSING_SECONDS: Final = 5.0
REMEMBERED: Final = 10_000

_Place = tuple[str, str, Need]


class Preflight:
    """``link(cluster)`` gives the connection of a worker in contact. Nothing is asked for jobs without needs."""

    def __init__(self, link: Callable[[str], WorkerConnection | None], clock: Clock, origin: str) -> None:
        self._link = link
        self._origin = origin
        self._clock = clock
        self._known: dict[_Place, tuple[bool, float]] = {}

    async def checked(self, turns: Sequence[Turn]) -> list[Turn]:
        """The turns with those clusters closed that lack something; what a credential may not read counts as there."""
        return list(await asyncio.gather(*(self._checked(turn) for turn in turns)))

    async def _checked(self, turn: Turn) -> Turn:
        wanted = turn.needs
        if not wanted:
            return turn
        namespace, clusters = turn.key.namespace, turn.asked.open
        lacking = await asyncio.gather(*(self._missing(cluster, namespace, wanted) for cluster in clusters))
        closed = {
            cluster: impossible(cluster, needs.MISSING_OBJECTS, needs.message(namespace, missing))
            for cluster, missing in zip(clusters, lacking, strict=True)
            if missing
        }
        if not closed:
            return turn
        opened = tuple(cluster for cluster in clusters if cluster not in closed)
        asked = replace(turn.asked, open=opened, closed=(*turn.asked.closed, *closed.values()))
        request = turn.request
        narrowed = evaluation.Request(request.namespace, request.name, request.framework, opened, request.workload)
        return replace(turn, asked=asked, request=narrowed)

    async def _missing(self, cluster: str, namespace: str, wanted: Iterable[Need]) -> list[Need]:
        link = self._link(cluster)
        if link is None:
            return []
        return [need for need in wanted if not await self._is_there(link, namespace, need)]

    async def _is_there(self, link: WorkerConnection, namespace: str, need: Need) -> bool:
        place, now = (link.name, namespace, need), self._clock.monotonic()
        known = self._known.get(place)
        if known is not None and now < known[1]:
            return known[0]
        found = await self._ask(link, namespace, need)
        self._known.pop(place, None)
        self._known[place] = found, now + (FOUND_SECONDS if found else MISSING_SECONDS)
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return found

    async def _ask(self, link: WorkerConnection, namespace: str, need: Need) -> bool:
        try:
            await link.client.raw(question(namespace, need, self._origin))
        except NotFound:
            return False
        except (ApiError, ConnectionError) as error:
            log.debug("worker %s: %s %s/%s not looked for: %s", link.name, need.kind, namespace, need.name, error)
        return True


def question(namespace: str, need: Need, origin: str) -> Request:
    if need.kind == needs.KIND:
        # An agent shows jobs to its hub only where the question is for those of the hub's own origin.
        ours = f"{names.MULTIKUEUE_ORIGIN_LABEL}={origin}"
        return Request(
            "GET", need.resource.path(namespace), (("labelSelector", ours), ("limit", "1")), METADATA_OF_LIST
        )
    # The name is all that is wanted: what a Secret holds has no business here.
    return Request("GET", need.resource.path(namespace, need.name), headers=METADATA_ONLY)

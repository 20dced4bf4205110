"""Drives the list-then-watch machine against a Client and feeds a Sink."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from worker_agent.api.resource_type import ResourceType
from worker_agent.kube import cancellation, errors
from worker_agent.kube.client import WATCH_TIMEOUT_SECONDS, Client
from worker_agent.kube.watch import ListAll, ListWatch, OpenWatch, WatchEvent

log = logging.getLogger(__name__)


class Sink(Protocol):
    """Where objects end up. ``replace`` gets everything there is, ``apply`` one change."""

    async def replace(self, items: list[bytes]) -> None: ...

    def apply(self, event: WatchEvent) -> None: ...


@dataclass(frozen=True, slots=True)
class Source:
    """What is watched; ``silence`` seconds without a byte make a stream count as dead."""

    resource: ResourceType
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    silence: float = 120.0


class Reflector:
    """``run`` never ends by itself: it repairs whatever breaks. ``on_health`` hears an error when contact is lost, or
    is lost for another reason, and None when it is there again (only changes are told)."""

    def __init__(
        self,
        client: Client,
        source: Source,
        sink: Sink,
        on_health: Callable[[BaseException | None], None] = lambda error: None,
    ) -> None:
        self._client = client
        self._source = source
        self._sink = sink
        self._on_health = on_health
        self._machine = ListWatch()
        self._told: type[BaseException] | None = None
        self._ever_told = False

    async def run(self) -> None:
        clock = self._client.clock
        while True:
            step = self._machine.step
            if step.delay:
                await clock.sleep(step.delay * (0.5 + clock.random()))
            try:
                if isinstance(step, ListAll):
                    await self._list()
                else:
                    await self._watch(step)
            except asyncio.CancelledError:
                if cancellation.is_ours():
                    raise
                # Cancelled without our own task being so: a connection was closed under a request.
                self._broken(step)

    def _broken(self, step: ListAll | OpenWatch) -> None:
        error = ConnectionError(f"{self._source.resource.plural}: the connection was closed under a request")
        if isinstance(step, ListAll):
            self._machine.list_failed(error)
        else:
            self._machine.ended(error, self._client.clock.monotonic())
        self._tell(error)

    async def _list(self) -> None:
        source = self._source
        try:
            page = await self._client.list(
                source.resource,
                source.namespace,
                label_selector=source.label_selector,
                field_selector=source.field_selector,
            )
            await self._sink.replace(page.items)
        except (errors.ApiError, ConnectionError) as error:
            self._machine.list_failed(error)
            self._tell(error)
            return
        self._machine.listed(page.resource_version)
        self._tell(None)

    async def _watch(self, step: OpenWatch) -> None:
        clock = self._client.clock
        source = self._source
        # Spread over a third, so that a hundred watches opened together do not end together.
        timeout = int(WATCH_TIMEOUT_SECONDS * (1 + clock.random() / 3))
        stream = self._client.watch(
            source.resource,
            source.namespace,
            resource_version=step.resource_version,
            label_selector=source.label_selector,
            field_selector=source.field_selector,
            timeout_seconds=timeout,
            silence=source.silence,
        )
        failure: BaseException | None = None
        self._machine.opened(clock.monotonic())
        try:
            async for batch in stream:
                self._take(batch)
        except (errors.ApiError, ConnectionError) as error:
            failure = error
        finally:
            await stream.aclose()
        self._machine.ended(failure, clock.monotonic())
        if failure is not None and not isinstance(failure, errors.Gone):
            self._tell(failure)

    def _take(self, batch: list[bytes]) -> None:
        for line in batch:
            event = self._machine.received(line)
            if event is not None:
                self._sink.apply(event)
        self._tell(None)

    def _tell(self, error: BaseException | None) -> None:
        reason = None if error is None else type(error)
        if self._ever_told and reason is self._told:
            return
        self._told, self._ever_told = reason, True
        path = self._source.resource.plural
        if error is not None:
            log.warning("watch of %s lost: %s", path, error)
        self._on_health(error)

"""Drives the list-then-watch machine against a Client and feeds a Sink."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Protocol

from worker_agent.api.resource_type import ResourceType
from worker_agent.kube import cancellation, errors
from worker_agent.kube.client import WATCH_TIMEOUT_SECONDS, Client, ListPage
from worker_agent.kube.initial_events import NoInitialEvents
from worker_agent.kube.watch import ListAll, ListWatch, OpenWatch, StreamAll, WatchEvent
from worker_agent.kube.watch_stream import Batch, WatchStream

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
                if isinstance(step, StreamAll):
                    await self._stream()
                elif isinstance(step, ListAll):
                    await self._list()
                else:
                    await self._watch(step)
            except asyncio.CancelledError:
                if cancellation.is_ours():
                    raise
                # Cancelled without our own task being so: a connection was closed under a request.
                self._broken()

    def _broken(self) -> None:
        error = ConnectionError(f"{self._source.resource.plural}: the connection was closed under a request")
        if self._machine.is_current:
            self._machine.ended(error, self._client.clock.monotonic())
        else:
            self._machine.list_failed(error)
        self._tell(error)

    async def _stream(self) -> None:
        source = self._source
        try:
            page, stream = await self._client.watch_from_start(
                source.resource,
                source.namespace,
                label_selector=source.label_selector,
                field_selector=source.field_selector,
                timeout_seconds=self._timeout_seconds(),
                silence=source.silence,
            )
        except NoInitialEvents as refusal:
            self._machine.not_streamed(for_good=refusal.for_good)
        except errors.Forbidden:
            # Who may not watch may be allowed to list, or is told what may not be listed.
            self._machine.not_streamed()
        except (errors.ApiError, ConnectionError) as error:
            self._list_failed(error)
        else:
            try:
                if await self._replace(page):
                    await self._follow(stream)
            finally:
                await stream.aclose()

    async def _list(self) -> None:
        source = self._source
        try:
            page = await self._client.list(
                source.resource,
                source.namespace,
                label_selector=source.label_selector,
                field_selector=source.field_selector,
            )
        except (errors.ApiError, ConnectionError) as error:
            self._list_failed(error)
            return
        await self._replace(page)

    async def _replace(self, page: ListPage) -> bool:
        """Whether the sink could read what there is."""
        try:
            await self._sink.replace(page.items)
        except ConnectionError as error:
            self._list_failed(error)
            return False
        self._machine.listed(page.resource_version)
        self._tell(None)
        return True

    def _list_failed(self, error: BaseException) -> None:
        self._machine.list_failed(error)
        self._tell(error)

    async def _watch(self, step: OpenWatch) -> None:
        source = self._source
        stream = self._client.watch(
            source.resource,
            source.namespace,
            resource_version=step.resource_version,
            label_selector=source.label_selector,
            field_selector=source.field_selector,
            timeout_seconds=self._timeout_seconds(),
            silence=source.silence,
        )
        await self._follow(stream)

    def _timeout_seconds(self) -> int:
        """Spread over a third, so that a hundred watches opened together do not end together."""
        return int(WATCH_TIMEOUT_SECONDS * (1 + self._client.clock.random() / 3))

    async def _follow(self, stream: AsyncGenerator[Batch, None] | WatchStream) -> None:
        """Takes what comes until the stream ends, and closes it."""
        clock = self._client.clock
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

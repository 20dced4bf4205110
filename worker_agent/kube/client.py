"""The API server's verbs over a Transport: documents in, bytes out, every write counted."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube import deadline, errors, retry, verbs
from worker_agent.kube.budget import RateBudget
from worker_agent.kube.clock import Clock
from worker_agent.kube.initial_events import InitialEvents, NoInitialEvents, Support, Unfinished
from worker_agent.kube.request_statistics import HostStatistics
from worker_agent.kube.transport import Request, Response, Transport
from worker_agent.kube.verbs import ListPage, PatchType, Selection, Target
from worker_agent.kube.watch_stream import Batch, WatchStream
from worker_agent.kube.write_gate import WriteGate

__all__ = ["Client", "ListPage", "PatchType"]

T = TypeVar("T")

WATCH_TIMEOUT_SECONDS = 300
LISTS_STARTED_ANEW = 3
"""How often a list whose page token expired is begun again before the caller hears of it."""


class Client:
    """One identity at one API server.

    Every method raises an ``errors.ApiError`` where the server refuses and a ``ConnectionError`` where it cannot be
    reached, after the repeats that ``retry_policy`` allows. ``timeout`` bounds one attempt, in seconds.
    ``writes`` counts write requests sent, by (verb, plural, subresource); repeats count again, as in an audit log. They
    pass ``gate``, by which a program lets them end before it does. ``statistics`` hears of every request.
    """

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        *,
        budget: RateBudget | None = None,
        user_agent: str = "fedhub",
        retry_policy: retry.RetryPolicy | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.transport = transport
        self.clock = clock
        self.writes: Counter[tuple[str, str, str]] = Counter()
        self.gate = WriteGate()
        self.statistics = HostStatistics()
        self._initial_events = Support()
        self._first_asks: asyncio.Event | None = None
        """Set when the first watch that wants initial events has heard, or not, what the server says to that."""
        self._budget = budget
        self._headers = {"user-agent": user_agent, "accept": "application/json"}
        self._retry_policy = retry_policy or retry.RetryPolicy()
        self._timeout = timeout

    async def get(self, resource: ResourceType, name: str, namespace: str = "", *, subresource: str = "") -> bytes:
        target = Target(resource, namespace, name, subresource)
        return await self._repeat("get", target, verbs.get(target))

    async def list(
        self,
        resource: ResourceType,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = verbs.PAGE_SIZE,
    ) -> ListPage:
        """The whole collection, walked in pages that show one moment of the server; size 0 takes it in one."""
        selection = Selection(label_selector, field_selector)
        target = Target(resource, namespace)
        return await _until_whole(lambda: self._list_once(target, selection, page_size))

    async def create(
        self,
        resource: ResourceType,
        document: Document,
        namespace: str = "",
        *,
        field_manager: str = "fedhub",
        name: str = "",
        subresource: str = "",
    ) -> bytes:
        """Creates an object; with ``name`` and ``subresource`` posts to a subresource such as pods/binding."""
        target = Target(resource, namespace, name, subresource)
        return await self._repeat("create", target, verbs.create(target, document, field_manager))

    async def update(
        self,
        resource: ResourceType,
        document: Document,
        namespace: str = "",
        *,
        field_manager: str = "fedhub",
        subresource: str = "",
    ) -> bytes:
        """Replaces the object; its resourceVersion makes the server refuse (Conflict) if it changed meanwhile."""
        target = Target(resource, namespace, document["metadata"]["name"], subresource)
        return await self._repeat("update", target, verbs.update(target, document, field_manager))

    async def patch(  # noqa: PLR0913 - the API's own parameters
        self,
        resource: ResourceType,
        name: str,
        namespace: str,
        body: object,
        *,
        patch_type: PatchType,
        subresource: str = "",
        field_manager: str = "fedhub",
    ) -> bytes:
        target = Target(resource, namespace, name, subresource)
        return await self._repeat("patch", target, verbs.patch(target, body, patch_type, field_manager))

    async def apply(  # noqa: PLR0913 - the API's own parameters
        self,
        resource: ResourceType,
        name: str,
        namespace: str,
        document: Document,
        *,
        field_manager: str,
        force: bool = True,
        subresource: str = "",
    ) -> bytes:
        """Server-side apply: the fields of ``document`` become this manager's, those it had and leaves out go away."""
        target = Target(resource, namespace, name, subresource)
        return await self._repeat("apply", target, verbs.apply(target, document, field_manager, force))

    async def delete(  # noqa: PLR0913 - the API's own parameters
        self,
        resource: ResourceType,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """Deletes the object, if it still is the one named by ``uid`` and ``resource_version`` (else Conflict).

        ``grace_seconds`` shortens the grace of a pod; 0 removes it at once, which only its kubelet should do.
        """
        target = Target(resource, namespace, name)
        preconditions = verbs.Preconditions(uid, resource_version)
        await self._repeat("delete", target, verbs.delete(target, preconditions, propagation, grace_seconds))

    async def watch(  # noqa: PLR0913 - the API's own parameters
        self,
        resource: ResourceType,
        namespace: str = "",
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = WATCH_TIMEOUT_SECONDS,
        silence: float = 120.0,
    ) -> AsyncGenerator[Batch, None]:
        """Changes after ``resource_version``, as batches of JSON lines ``{"type": ..., "object": ...}``.

        The server ends the stream after ``timeout_seconds``; ServerSilent is raised when nothing came for ``silence``
        seconds (servers send a bookmark about once a minute), ConnectionError when the stream is cut. Not repeated:
        ``watch.ListWatch`` knows from where to go on.
        """
        target = Target(resource, namespace)
        selection = Selection(label_selector, field_selector)
        request = self._signed(verbs.watch(target, selection, resource_version, timeout_seconds))
        if self._budget:
            await self._budget.admit()
        stream = WatchStream(await self._open(request), silence)
        try:
            async for batch in stream:
                yield batch
        finally:
            await stream.aclose()

    async def watch_from_start(
        self,
        resource: ResourceType,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = WATCH_TIMEOUT_SECONDS,
        silence: float = 120.0,
    ) -> tuple[ListPage, WatchStream]:
        """The whole collection, and the watch that goes on from it: one request, repeated as a list until the objects
        are all there. The caller closes the stream.

        Raises NoInitialEvents where the server does not do that; one that refused is not asked again.
        """
        request = self._signed(
            verbs.watch_from_start(
                Target(resource, namespace), Selection(label_selector, field_selector), timeout_seconds
            )
        )

        async def attempt() -> tuple[ListPage, WatchStream]:
            return await self._begin(request, silence)

        await self._after_the_first()
        try:
            return await _until_whole(lambda: self._patiently("watch", attempt))
        finally:
            self._let_others_ask()

    async def raw(self, request: Request) -> bytes:
        """Any other request, for example ``GET /version``; GETs are repeated like reads."""
        return await self._repeat("get" if request.method == "GET" else request.method.lower(), None, request)

    async def close(self) -> None:
        await self.transport.close()

    async def _list_once(self, target: Target, selection: Selection, page_size: int) -> ListPage:
        whole = ListPage()
        token = ""
        while True:
            body = await self._repeat("list", target, verbs.list_page(target, selection, token, page_size))
            page, token = verbs.read_page(body, target.resource)
            whole.items += page.items
            whole.resource_version = whole.resource_version or page.resource_version
            if not token:
                return whole

    async def _repeat(self, verb: str, target: Target | None, request: Request) -> bytes:
        signed = self._signed(request)

        async def exchange() -> bytes:
            return await self._exchange(verb, target, signed)

        return await self._patiently(verb, exchange)

    async def _patiently(self, verb: str, exchange: Callable[[], Awaitable[T]]) -> T:
        """What ``exchange`` comes to, within the budget and repeated as the policy has it."""

        async def attempt() -> T:
            if self._budget is None:
                return await exchange()
            async with self._budget.slot():
                return await exchange()

        return await retry.repeat(verb, attempt, self._retry_policy, self.clock)

    async def _after_the_first(self) -> None:
        """Where nobody knows yet what the server says to initial events, one asks and the others wait for the answer:
        a refusal costs one request."""
        if self._first_asks is not None:
            await self._first_asks.wait()
        elif self._initial_events.known is None:
            self._first_asks = asyncio.Event()

    def _let_others_ask(self) -> None:
        if self._first_asks is not None:
            self._first_asks.set()

    async def _begin(self, request: Request, silence: float) -> tuple[ListPage, WatchStream]:
        support = self._initial_events
        if support.refused:
            raise NoInitialEvents
        try:
            response, body = await self._answer_to_watch(request)
        finally:
            self._let_others_ask()
        if response.status == HTTPStatus.TOO_MANY_REQUESTS:
            # Said of a kind alone whose cache the server still fills; it answers a list, or says there what it means.
            raise NoInitialEvents(for_good=False)
        try:
            self._settle(response, body)
        except errors.ApiError as error:
            if support.failed(error):
                raise NoInitialEvents from error
            raise
        stream = WatchStream(response, support.silence(self._timeout))
        try:
            page, rest = await self._initial(stream)
        except (errors.ApiError, ConnectionError) as error:
            await stream.aclose()
            if support.failed(error):
                raise NoInitialEvents from error
            raise
        except BaseException:
            await stream.aclose()
            raise
        support.given()
        stream.go_on(rest, silence)
        return page, stream

    async def _initial(self, stream: WatchStream) -> tuple[ListPage, Batch]:
        """The objects with which a watch begins, and what came with the last of them."""
        initial = InitialEvents()
        allowed, began = self._initial_events.silence(self._timeout), self.clock.monotonic()
        try:
            async for batch in stream:
                if (whole := initial.take(batch)) is not None:
                    return whole
                if self.clock.monotonic() - began > initial.seconds(allowed):
                    break
            else:
                raise ConnectionError("watch: the stream ended before all objects had come")
        except errors.ServerSilent as error:
            raise Unfinished(
                f"watch: the objects had not all come, then the stream was silent for {allowed:g} s"
            ) from error
        raise Unfinished(f"watch: the objects had not all come after {initial.seconds(allowed):g} s")

    async def _exchange(self, verb: str, target: Target | None, request: Request) -> bytes:
        if request.method == "GET" or target is None:
            return await self._answered(request)
        async with self.gate.passing():
            self.writes[verb, target.resource.plural, target.subresource] += 1
            return await self._answered(request)

    async def _answered(self, request: Request) -> bytes:
        status, began = 0, self.clock.monotonic()
        try:
            response, body = await deadline.within(self._timeout, self._read(request))
            status = response.status
        except TimeoutError as error:
            raise errors.ServerSilent(
                f"{request.method} {request.path}: no answer within {self._timeout:g} s"
            ) from error
        finally:
            self.statistics.asked(request.method, status)
            self.statistics.took(request.method, self.clock.monotonic() - began)
        self._settle(response, body)
        return body

    async def _read(self, request: Request) -> tuple[Response, bytes]:
        response = await self.transport.request(request)
        return response, await response.read()

    async def _read_refusal(self, request: Request) -> tuple[Response, bytes]:
        """The body only where the request was refused: that of a stream is read by others."""
        response = await self.transport.request(request)
        return response, await response.read() if response.status >= 300 else b""

    async def _open(self, request: Request) -> Response:
        response, body = await self._answer_to_watch(request)
        self._settle(response, body)
        return response

    async def _answer_to_watch(self, request: Request) -> tuple[Response, bytes]:
        status = 0
        try:
            response, body = await deadline.within(self._timeout, self._read_refusal(request))
            status = response.status
        except TimeoutError as error:
            raise errors.ServerSilent(f"watch of {request.path}: not opened within {self._timeout:g} s") from error
        finally:
            self.statistics.asked(request.method, status)
        return response, body

    def _settle(self, response: Response, body: bytes) -> None:
        """Raises what the server refused; tells the budget how the server feels."""
        if response.status < 300:
            if self._budget:
                self._budget.answered()
            return
        error = errors.from_body(response.status, body, response.headers)
        if self._budget and (error.status == 429 or (error.status == 503 and error.retry_after is not None)):
            self._budget.pushed_back(error.retry_after)
        raise error

    def _signed(self, request: Request) -> Request:
        headers = {**self._headers, **request.headers}
        return Request(request.method, request.path, request.query, headers, request.body)


async def _until_whole(collect: Callable[[], Awaitable[T]]) -> T:
    """What ``collect`` comes to, begun anew where the moment that it shows expired while it was collected."""
    for _ in range(LISTS_STARTED_ANEW):
        with contextlib.suppress(errors.Gone):
            return await collect()
    return await collect()

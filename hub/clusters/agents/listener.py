"""The door for agents: an HTTPS server that hands out certificates and keeps the WebSockets they dial.

Runs on every replica of the hub and tells which one it is; the one that leads uses the links it holds. Nothing here
reads what an agent sends beyond HTTP/2 frames, and nothing that an agent sends is logged.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from hub.clusters.agents.enrolments import AuthorityUnusable, Enrolments, Refused
from hub.clusters.agents.links import AgentLinks, Greeting
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError, KeyPair, Subject, Usage
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError
from worker_agent.kube.http_server import HttpsServer
from worker_agent.tunnel import protocol, tls
from worker_agent.tunnel.caller import Caller
from worker_agent.tunnel.pipe import LARGEST_MESSAGE, WebSocketPipe
from worker_agent.tunnel.protocol import AgentName, Application, Issued, Problem, Purpose, Replica

log = logging.getLogger(__name__)

SERVER_VALIDITY: Final = timedelta(days=30)
SERVER_RENEWED_EVERY_SECONDS: Final = 24 * 3600.0
LARGEST_APPLICATION: Final = 1 << 16
ENROLLING_AT_A_TIME: Final = 4
"""Anybody may ask, and each question costs the hub's API server a read: no more than this much of its work."""
MISDIRECTED: Final = 421
"""HTTP's word for a request that came to a server for which it was not meant."""
RETRY_SECONDS: Final = 2.0
TRAFFIC_SECONDS: Final = 5.0

Traffic = Callable[[str, int, int], None]
"""``(agent, sent, received)`` in bytes since the last call."""


@dataclass(frozen=True, slots=True)
class Door:
    """``host`` None is every address of the machine; ``names`` are what agents know the hub by: names or addresses.

    ``heartbeat`` in seconds. ``replica`` says who answers here and who leads."""

    host: str | None
    port: int
    names: tuple[str, ...]
    heartbeat: float = 10.0
    replica: Callable[[], Replica] = Replica


@dataclass(frozen=True, slots=True)
class _Caller:
    """The client of a request, as its certificate shows it."""

    name: AgentName
    expires_in: float


class AgentListener:
    """``run`` serves until cancelled. ``port`` is the one in use."""

    def __init__(
        self,
        door: Door,
        enrolments: Enrolments,
        links: AgentLinks,
        clock: Clock,
        traffic: Traffic = lambda agent, sent, received: None,
    ) -> None:
        self.port = door.port
        self.serving = asyncio.Event()
        self._enrolling = asyncio.Semaphore(ENROLLING_AT_A_TIME)
        self._own: KeyPair | None = None
        self._door = door
        self._enrolments = enrolments
        self._links = links
        self._clock = clock
        self._traffic = traffic

    async def run(self) -> None:
        """Raises OSError when the port is in use; an API server that is away is waited for."""
        own = self._own = await self._authority()
        context = tls.server(own.certificate, self._certificate(own))
        server = HttpsServer(self._application(), shutdown_seconds=1.0)
        try:
            self.port = await server.listen(self._door.host, self._door.port, context)
            self.serving.set()
            log.info("agents are served at port %d as %s", self.port, ", ".join(self._door.names))
            while True:
                await self._clock.sleep(SERVER_RENEWED_EVERY_SECONDS)
                tls.load(context, self._certificate(own))
        finally:
            self.serving.clear()
            await server.end()

    async def _authority(self) -> KeyPair:
        while True:
            try:
                return await self._enrolments.authority()
            except (ApiError, ConnectionError, AuthorityUnusable) as error:
                log.warning("agents cannot be served yet: %s", error)
            await self._clock.sleep(RETRY_SECONDS)

    def _certificate(self, own: KeyPair) -> KeyPair:
        subject = Subject(self._door.names[0], hosts=self._door.names)
        return authority.sign(own, subject, Usage.SERVER, self._clock.now(), SERVER_VALIDITY)

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=LARGEST_APPLICATION)
        application.router.add_get(protocol.AUTHORITY_PATH, self._give_authority)
        application.router.add_post(protocol.ENROL_PATH, _answered(self._enrol))
        application.router.add_post(protocol.RENEW_PATH, _answered(self._renew))
        application.router.add_get(protocol.REPLICA_PATH, self._give_replica)
        application.router.add_get(protocol.TUNNEL_PATH, self._tunnel)
        return application

    async def _give_authority(self, request: web.Request) -> web.Response:
        if self._own is None:
            return web.Response(status=503)
        return web.Response(body=self._own.certificate, content_type="application/x-pem-file")

    async def _give_replica(self, request: web.Request) -> web.Response:
        """Asks nobody: agents come by often, to look for replicas to which they hold no link yet."""
        try:
            self._caller(request)
        except Refused as refused:
            return _json(refused.status, Problem(refused.message))
        return _json(200, self._door.replica())

    async def _enrol(self, request: web.Request) -> Issued:
        application = await _application(request)
        if not protocol.is_agent_name(application.agent):
            raise Refused(400, "the agent's name must be in lower case letters, digits, '-' and '.'")
        async with self._enrolling:
            issued = await self._enrolments.enrol(application)
        log.info("agent %s enrolled", application.agent)
        return issued

    async def _renew(self, request: web.Request) -> Issued:
        caller = self._caller(request)
        return await self._enrolments.renew(caller.name, await _application(request))

    async def _tunnel(self, request: web.Request) -> web.StreamResponse:
        try:
            caller, greeting = await self._greeted(request)
        except Refused as refused:
            log.warning("a connection was refused: %s", refused.message)
            return web.Response(status=refused.status, headers={protocol.PROBLEM_HEADER: refused.message})
        except (ApiError, ConnectionError) as error:
            log.warning("a connection was put off: %s", error)
            return web.Response(status=503, headers={protocol.PROBLEM_HEADER: "the hub cannot reach its API server"})
        socket = web.WebSocketResponse(max_msg_size=LARGEST_MESSAGE, compress=False, autoclose=True)
        await socket.prepare(request)
        session = Caller(WebSocketPipe(socket), self._clock, heartbeat=self._door.heartbeat)
        await self._serve(session, greeting, caller.expires_in)
        return socket

    async def _serve(self, session: Caller, greeting: Greeting, seconds: float) -> None:
        agent = greeting.name.agent
        expiry = asyncio.create_task(self._expire(session, seconds))
        counting = asyncio.create_task(self._count(session, agent))
        self._links.attach(greeting, session)
        reason = "the hub stopped"
        try:
            await session.run()
        except ConnectionError as error:
            reason = str(error)
        finally:
            expiry.cancel()
            counting.cancel()
            await asyncio.gather(expiry, counting, return_exceptions=True)
            self._links.detach(greeting, session, reason)

    async def _expire(self, session: Caller, seconds: float) -> None:
        """A connection does not outlive the certificate it was opened with."""
        await self._clock.sleep(seconds)
        session.end()

    async def _count(self, session: Caller, agent: str) -> None:
        sent = received = 0
        try:
            while True:
                await self._clock.sleep(TRAFFIC_SECONDS)
                traffic = session.traffic
                self._traffic(agent, traffic.sent - sent, traffic.received - received)
                sent, received = traffic.sent, traffic.received
        finally:
            self._traffic(agent, session.traffic.sent - sent, session.traffic.received - received)

    async def _greeted(self, request: web.Request) -> tuple[_Caller, Greeting]:
        caller = self._caller(request)
        headers = request.headers
        own = self._door.replica().name
        if headers.get(protocol.REPLICA_HEADER, "") not in ("", own):
            raise Refused(MISDIRECTED, f"this is {own}, and another replica was meant: dial again")
        try:
            purpose = Purpose(headers.get(protocol.PURPOSE_HEADER, ""))
        except ValueError:
            raise Refused(400, f"the header {protocol.PURPOSE_HEADER} is missing or unknown") from None
        link = headers.get(protocol.LINK_HEADER, "")
        if not link.isalnum() or len(link) > 64:
            raise Refused(400, f"the header {protocol.LINK_HEADER} is missing or malformed")
        await self._enrolments.confirm(caller.name, headers.get(protocol.CLUSTER_HEADER, ""))
        return caller, Greeting(caller.name, link, purpose)

    def _caller(self, request: web.Request) -> _Caller:
        """Whose certificate TLS has verified. Raises Refused."""
        transport = request.transport
        tls_object: ssl.SSLObject | None = transport.get_extra_info("ssl_object") if transport else None
        shown = tls_object.getpeercert(binary_form=True) if tls_object is not None else None
        if not shown:
            raise Refused(401, "a client certificate is needed: join first")
        try:
            peer = authority.read_peer(shown)
        except AuthorityError as error:
            raise Refused(401, str(error)) from None
        name = AgentName.from_uris(peer.uris)
        if name is None:
            raise Refused(401, "the client certificate is not one of an agent")
        seconds = (peer.expires_at - self._clock.now()).total_seconds()
        if seconds <= 0:
            raise Refused(401, "the client certificate has expired: join again")
        return _Caller(name, seconds)


async def _application(request: web.Request) -> Application:
    try:
        return msgspec.json.decode(await request.read(), type=Application)
    except msgspec.DecodeError:
        # The decoder's own text may quote the token.
        raise Refused(400, "the request is not an agent's application for a certificate") from None


def _answered(work: Callable[[web.Request], Awaitable[Issued]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        try:
            issued = await work(request)
        except Refused as refused:
            log.warning("a certificate was refused: %s", refused.message)
            return _json(refused.status, Problem(refused.message))
        except AuthorityUnusable as error:
            log.error("a certificate cannot be issued: %s", error)
            return _json(503, Problem("the hub's authority cannot be used; its log says why"))
        except (ApiError, ConnectionError) as error:
            log.warning("a certificate cannot be issued now: %s", error)
            return _json(503, Problem("the hub cannot reach its API server; try again"))
        return _json(200, issued)

    return answer


def _json(status: int, content: Any) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(content), content_type="application/json")


def names_of(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Host names and addresses in the hub's addresses."""
    return tuple(dict.fromkeys(host for address in addresses if (host := urlsplit(address).hostname)))

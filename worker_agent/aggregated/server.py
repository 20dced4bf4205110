"""The HTTPS server to which the API server sends users' requests on: only its front proxy may connect."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from worker_agent.aggregated.front_proxy import Trust, Untrusted, User
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError, KeyPair
from worker_agent.kube.errors import ApiError
from worker_agent.kube.http_server import HttpsServer
from worker_agent.kube.key_files import key_file

log = logging.getLogger(__name__)

LARGEST_BODY: Final = 1 << 16

Answer = Callable[[web.Request, User], Awaitable[web.StreamResponse]]
"""Answers a user's request. What it raises as ApiError becomes a Status."""


class AggregatedServer:
    """Serves ``answer`` while it is started; certificate and trust may change meanwhile, and restart the socket.

    ``restrict`` says how the API server may speak TLS.
    """

    def __init__(
        self,
        host: str | None,
        port: int,
        answer: Answer,
        restrict: Callable[[ssl.SSLContext], None] = lambda context: None,
    ) -> None:
        self._host = host
        self._wanted_port = port
        self._answer = answer
        self._restrict = restrict
        self._server: HttpsServer | None = None
        self._trust: Trust | None = None
        self.port = port
        """The one in use once it serves."""

    async def serve(self, pair: KeyPair, trust: Trust) -> None:
        """Listen with this certificate and trust from now on. Raises OSError when the port is in use, Untrusted where
        ``trust`` has no usable authority."""
        context = _context(pair, trust)
        self._restrict(context)
        if self._server is None:
            application = web.Application(client_max_size=LARGEST_BODY)
            application.router.add_route("*", "/{path:.*}", self._handle)
            self._server = HttpsServer(application, shutdown_seconds=1.0)
        self._trust = trust
        self.port = self._wanted_port = await self._server.listen(self._host, self._wanted_port, context)

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.end()
            self._server = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            user = self._user(request)
        except Untrusted as problem:
            log.warning("a request was refused: %s", problem)
            return status(401, "Unauthorized", str(problem))
        try:
            return await self._answer(request, user)
        except ApiError as error:
            return status(error.status, error.reason, error.message)
        except ConnectionError as error:
            return status(503, "ServiceUnavailable", str(error))
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return status(500, "InternalError", "internal error; the log of the program says more")

    def _user(self, request: web.Request) -> User:
        transport = request.transport
        shown: ssl.SSLObject | None = transport.get_extra_info("ssl_object") if transport is not None else None
        certificate = shown.getpeercert(binary_form=True) if shown is not None else None
        if self._trust is None or not certificate:
            raise Untrusted("a client certificate is needed")
        try:
            name = authority.common_name(certificate)
        except AuthorityError as error:
            raise Untrusted(str(error)) from None
        return self._trust.user(name, request.headers.items())


def status(code: int, reason: str, message: str) -> web.Response:
    """A refusal as API servers write them."""
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return web.Response(status=code, body=msgspec.json.encode(document), content_type="application/json")


def _context(pair: KeyPair, trust: Trust) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(cadata=trust.authority.decode())
    except (ssl.SSLError, ValueError, TypeError):
        raise Untrusted("the authority of the API server's front proxy is no certificate in PEM") from None
    with key_file(pair.certificate, pair.key) as path:
        try:
            context.load_cert_chain(path)
        except ssl.SSLError:
            raise Untrusted("certificate and key are no pair; one of them may be about to be replaced") from None
    return context

"""HTTPS: the aiohttp shell. One handler for everything; watches are chunked, big answers gzipped as by the real one."""

import asyncio
import gzip
import hashlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl
from weakref import WeakKeyDictionary

from aiohttp import web

from hub.local.apiserver import failure
from hub.local.apiserver.answer import Answer, failed
from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.certificates import KeyPair
from hub.local.apiserver.core import OPEN
from hub.local.apiserver.identity import Identity
from worker_agent.kube.key_files import key_file
from worker_agent.kube.transport import Request

_GZIP_FROM = 128 * 1024
_LARGEST_BODY = 3 * 1024 * 1024
"""apiserver: MaxRequestBodyBytes."""
_GRACE_SECONDS = 5.0


class HttpFront:
    """Listens for one ApiServer. ``port`` is known after ``start``."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=_GRACE_SECONDS)
        self.port = 0
        self._by_certificate: WeakKeyDictionary[Any, Identity | None] = WeakKeyDictionary()
        """By connection: a certificate is read once."""

    async def start(self, host: str, port: int, certificate: KeyPair, client_ca: bytes) -> None:
        """Raises OSError when the address is taken."""
        await self._runner.setup()
        context = server_context(certificate, client_ca)
        site = web.TCPSite(self._runner, host, port, ssl_context=context, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Requests under way get a few seconds."""
        await self._runner.cleanup()

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        identity = self._identity(incoming)
        if identity is None:
            if incoming.path.strip("/").partition("/")[0] not in OPEN:
                return _response(incoming, failed(failure.unauthorized()))
            identity = Identity("system:anonymous", ("system:unauthenticated",))
        if incoming.path == "/metrics":
            return web.Response(text=metrics(self._server))
        body = await _body(incoming)
        if body is None:
            return _response(incoming, failed(_too_large()))
        answer = await self._server.answer(_request(incoming, body), identity)
        if answer.watch is not None:
            frames = self._server.frames(answer.watch, lambda: _connected(incoming))
            return await _streamed(incoming, answer, frames)
        if answer.stream is not None:
            return await _streamed(incoming, answer, answer.stream)
        return _response(incoming, answer)

    def _identity(self, incoming: web.BaseRequest) -> Identity | None:
        authorization = incoming.headers.get("Authorization", "")
        authenticator = self._server.core.authenticator
        connection: Any = incoming.get_extra_info("ssl_object") if not authorization else None
        if connection is None:
            return authenticator.request(authorization, None)
        if connection not in self._by_certificate:
            certificate = connection.getpeercert()
            identity = authenticator.request("", certificate.get("subject") if certificate else None)
            if identity is not None:
                digest = hashlib.sha256(connection.getpeercert(True)).hexdigest()
                identity = replace(identity, credential=f"X509SHA256={digest}")
            self._by_certificate[connection] = identity
        return self._by_certificate[connection]


async def _streamed(incoming: web.BaseRequest, answer: Answer, pieces: AsyncIterator[bytes]) -> web.StreamResponse:
    """An answer that is sent as it comes: a watch, or what another server says."""
    response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
    for name, value in answer.headers:
        response.headers.add(name, value)
    response.enable_chunked_encoding()
    await response.prepare(incoming)
    try:
        async for piece in pieces:
            await response.write(piece)
        await response.write_eof()
    except (ConnectionError, asyncio.CancelledError):
        # The client went away; that is how most watches end.
        incoming.protocol.force_close()
    finally:
        await pieces.aclose()  # type: ignore[attr-defined]  # an async generator
    return response


def _connected(incoming: web.BaseRequest) -> bool:
    """aiohttp does not tell a handler that waits that its client went away."""
    return incoming.transport is not None and not incoming.transport.is_closing()


async def _body(incoming: web.BaseRequest) -> bytes | None:
    """The whole body; None when it is longer than what is taken."""
    pieces, size = [], 0
    while piece := await incoming.content.readany():
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST_BODY:
            return None
    return b"".join(pieces)


def _request(incoming: web.BaseRequest, body: bytes) -> Request:
    raw = incoming.raw_path
    path, _, query = raw.partition("?")
    pairs = tuple(parse_qsl(query, keep_blank_values=True)) if query else ()
    headers: dict[str, str] = {}
    for name, value in incoming.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]},{value}" if key in headers else value
    return Request(incoming.method, path, pairs, headers, body)


def _response(incoming: web.BaseRequest, answer: Answer) -> web.Response:
    body = answer.body
    response = web.Response(status=answer.status)
    headers = response.headers
    if answer.content_type:
        headers["Content-Type"] = answer.content_type
    headers["Cache-Control"] = "no-cache, private"
    for name, value in answer.headers:
        headers.add(name, value)
    if len(body) > _GZIP_FROM and "gzip" in incoming.headers.get("Accept-Encoding", ""):
        body = gzip.compress(body, 1)
        headers["Content-Encoding"] = "gzip"
    response.body = body
    return response


def _too_large() -> failure.Failure:
    message = f"Request entity too large: limit is {_LARGEST_BODY}"
    return failure.Failure(413, "RequestEntityTooLarge", message)


def server_context(certificate: KeyPair, client_ca: bytes) -> ssl.SSLContext:
    """TLS that offers to check a client's certificate against the cluster's CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with key_file(certificate.certificate, certificate.key) as path:
        context.load_cert_chain(path)
    context.load_verify_locations(cadata=client_ca.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def metrics(server: ApiServer) -> str:
    """Writes by who made them, in Prometheus' text format."""
    name = "apiserver_writes_total"
    lines = [f"# HELP {name} Writes answered, by client.", f"# TYPE {name} counter"]
    for (agent, user, method, resource, status), count in sorted(server.writes.items()):
        labels = {"user_agent": agent, "user": user, "method": method, "resource": resource, "code": str(status)}
        quoted = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels.items())
        lines.append(f"{name}{{{quoted}}} {count}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

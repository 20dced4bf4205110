"""Requests sent on to aggregated API servers: aiohttp with the front proxy's certificate, bodies as they come."""

import ssl
from collections.abc import AsyncIterator
from typing import NamedTuple

import aiohttp
import msgspec

from hub.local.apiserver import dial_errors
from hub.local.apiserver.aggregation import Registration, Relay
from hub.local.apiserver.answer import Answer
from hub.local.apiserver.certificates import KeyPair
from hub.local.apiserver.service_addresses import ServiceAddresses
from hub.local.apiserver.store import decode
from worker_agent.api.document import Document
from worker_agent.kube.key_files import key_file

_PROBE_SECONDS = 5.0
_AGGREGATOR = {"X-Remote-User": "system:kube-aggregator", "X-Remote-Group": "system:masters"}
"""As whom the server itself asks."""
_NOT_PASSED_BACK = frozenset({"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"})


class Probe(NamedTuple):
    """Whether an aggregated server answers, in the words of its Available condition, and the APIResources it listed."""

    ok: bool
    reason: str
    message: str
    resources: list[Document]


class RelayClient:
    """``certificate`` proves to aggregated servers that the headers saying who asks are this server's."""

    def __init__(self, addresses: ServiceAddresses, certificate: KeyPair) -> None:
        self._addresses = addresses
        self._certificate = certificate
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[tuple[bytes, bool], ssl.SSLContext] = {}

    async def open(self, relay: Relay) -> Answer:
        """Send the request on; the answer's stream is closed by who reads it."""
        base = self._base(relay.registration)
        if not base:
            return _unavailable()
        try:
            response = await self._opened().request(
                relay.method,
                base + relay.target,
                headers=relay.headers,
                data=relay.body or None,
                ssl=self._context(relay.registration),
                server_hostname=relay.registration.server_name,
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            text = f"error trying to reach service: {error}\n"
            return Answer(503, text.encode(), content_type="text/plain; charset=utf-8")
        headers = [pair for pair in response.headers.items() if pair[0].lower() not in _NOT_PASSED_BACK]
        kept = [pair for pair in headers if pair[0].lower() != "content-type"]
        content_type = response.headers.get("Content-Type", "application/json")
        return Answer(response.status, content_type=content_type, headers=kept, stream=_pieces(response))

    async def probe(self, registration: Registration) -> Probe:
        """Ask for the discovery document of a registration."""
        namespace, name, _ = registration.service
        if not self._addresses.exists(namespace, name):
            return Probe(False, "ServiceNotFound", f'service/{name} in "{namespace}" is not present', [])
        base = self._base(registration)
        if not base:
            why = "no network here: map it to an address (service_map) or make it a Service of type ExternalName"
            return Probe(False, "EndpointsNotFound", f'service/{name} in "{namespace}" has no endpoints: {why}', [])
        url = base + registration.path
        try:
            timeout = aiohttp.ClientTimeout(total=_PROBE_SECONDS)
            context, host = self._context(registration), registration.server_name
            session = self._opened()
            async with session.get(
                url, headers=_AGGREGATOR, timeout=timeout, ssl=context, server_hostname=host
            ) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return _failed(f'failing or missing response from {url}: Get "{url}": {dial_errors.complaint(error)}')
        if not 200 <= response.status < 300:
            return _failed(f"failing or missing response from {url}: bad status from {url}: {response.status}")
        return Probe(True, "Passed", "all checks passed", _listed(body))

    def _base(self, registration: Registration) -> str:
        return self._addresses.base(*registration.service)

    def _context(self, registration: Registration) -> ssl.SSLContext:
        key = (registration.ca_bundle, registration.insecure)
        context = self._contexts.get(key)
        if context is None:
            context = ssl.create_default_context(cadata=key[0].decode() if key[0] else None)
            if registration.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            with key_file(self._certificate.certificate, self._certificate.key) as path:
                context.load_cert_chain(path)
            self._contexts[key] = context
        return context

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # What is relayed may be a watch: it takes as long as it takes, and is not unpacked on the way.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None, sock_connect=10)
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _unavailable() -> Answer:
    return Answer(503, b"service unavailable\n", content_type="text/plain; charset=utf-8")


def _failed(message: str) -> Probe:
    return Probe(False, "FailedDiscoveryCheck", message, [])


def _listed(body: bytes) -> list[Document]:
    try:
        document = decode(body)
    except msgspec.DecodeError:
        return []
    resources = document.get("resources") if isinstance(document, dict) else None
    return [entry for entry in resources or () if isinstance(entry, dict) and entry.get("name")]


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for piece in response.content.iter_any():
            yield piece
    finally:
        response.close()

"""The few requests an agent makes to its hub: the authority, a certificate, the WebSockets of a link."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from worker_agent.kube import proxies
from worker_agent.tunnel import protocol, tls
from worker_agent.tunnel.hub_addresses import InAnyOrder
from worker_agent.tunnel.identity import Identity
from worker_agent.tunnel.pipe import LARGEST_MESSAGE, WebSocketPipe
from worker_agent.tunnel.protocol import Application, Issued, Problem, Purpose, Replica

TIMEOUT_SECONDS: Final = 20.0
LARGEST_ANSWER: Final = 1 << 16
UNKNOWN_PATH: Final = 404

T = TypeVar("T")


class HubRefused(Exception):
    """The hub understood and said no; the text is its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class HubApi:
    """One address of the hub. Raises ConnectionError where it cannot be reached, HubRefused where it says no.

    With ``chance`` (between 0 and 1, another each time) it leads to any of the addresses that its name stands for."""

    def __init__(self, address: str, context: ssl.SSLContext, chance: Callable[[], float] | None = None) -> None:
        self._address = address
        self._context = context
        self._chance = chance
        self._proxy = proxies.from_environment(address)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "HubApi":
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_SECONDS)
        resolver = InAnyOrder(self._chance) if self._chance is not None else None
        connector = aiohttp.TCPConnector(resolver=resolver)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def authority(self) -> bytes:
        """The certificate the hub shows as its authority, PEM. Compare it with the pin before using it."""
        return await self._exchange("GET", protocol.AUTHORITY_PATH, b"")

    async def enrol(self, application: Application) -> Issued:
        return await self._issued(protocol.ENROL_PATH, application)

    async def renew(self, application: Application) -> Issued:
        return await self._issued(protocol.RENEW_PATH, application)

    async def replica(self) -> Replica:
        """Whom this address has led to; without a name where a hub is too old to say."""
        try:
            return self._decoded(await self._exchange("GET", protocol.REPLICA_PATH, b""), Replica)
        except HubRefused as refused:
            if refused.status != UNKNOWN_PATH:
                raise
            return Replica()

    async def tunnel(self, purpose: Purpose, link: str, cluster_uid: str, replica: str = "") -> WebSocketPipe:
        """A connection to ``replica``: another one, should the address lead there by now, refuses it."""
        headers = {
            protocol.REPLICA_HEADER: replica,
            protocol.PURPOSE_HEADER: purpose.value,
            protocol.LINK_HEADER: link,
            protocol.CLUSTER_HEADER: cluster_uid,
        }
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                socket = await self._open().ws_connect(
                    self._address + protocol.TUNNEL_PATH,
                    headers=headers,
                    max_msg_size=LARGEST_MESSAGE,
                    compress=0,
                    ssl=self._context,
                    proxy=self._proxy,
                )
        except aiohttp.WSServerHandshakeError as error:
            told = error.headers.get(protocol.PROBLEM_HEADER) if error.headers is not None else None
            raise HubRefused(error.status, told or f"HTTP {error.status}") from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectionError(f"{self._address}: {_detail(error)}") from error
        return WebSocketPipe(socket)

    async def _issued(self, path: str, application: Application) -> Issued:
        body = await self._exchange("POST", path, msgspec.json.encode(application))
        return self._decoded(body, Issued)

    async def _exchange(self, method: str, path: str, body: bytes) -> bytes:
        options: dict[str, Any] = {"ssl": self._context, "proxy": self._proxy, "allow_redirects": False}
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        try:
            async with self._open().request(
                method, self._address + path, data=body or None, timeout=timeout, **options
            ) as answer:
                content = await _content(answer)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectionError(f"{self._address}: {_detail(error)}") from error
        if answer.status != 200:
            raise HubRefused(answer.status, self._problem(answer.status, content))
        return content

    def _problem(self, status: int, content: bytes) -> str:
        try:
            message = msgspec.json.decode(content, type=Problem).message
        except msgspec.DecodeError:
            message = ""
        return message or f"{self._address} answered HTTP {status}; is it the address of a hub's agent listener?"

    def _decoded(self, content: bytes, type_: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=type_)
        except msgspec.DecodeError as error:
            raise ConnectionError(f"{self._address}: the answer is not a hub's: {error}") from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise ConnectionError(f"{self._address}: the connection is closed")
        return self._session


async def _content(answer: aiohttp.ClientResponse) -> bytes:
    """Whole, so that the connection may serve for more, unless it is larger than any answer of a hub."""
    content = bytearray()
    while len(content) < LARGEST_ANSWER and (piece := await answer.content.readany()):
        content += piece
    return bytes(content[:LARGEST_ANSWER])


def of(identity: Identity, address: str, chance: Callable[[], float] | None = None) -> HubApi:
    """As the agent that ``identity`` is. Raises UnusablePair."""
    return HubApi(address, tls.client(identity.authority, identity.pair), chance)


def _detail(error: BaseException) -> str:
    """What went wrong, without headers or bodies, which errors of aiohttp may quote."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the hub's certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy refused: HTTP {error.status}"
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT_SECONDS:g} s"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return type(error).__name__

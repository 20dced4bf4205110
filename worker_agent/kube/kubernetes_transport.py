"""Transport to a real API server on the official client's asyncio package and its aiohttp session.

The client package makes the TLS context, connector and proxy settings; requests go to its session directly, because
its own request method encodes bodies again and changes patch types.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from http import HTTPStatus
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from worker_agent.kube import official_client, proxies
from worker_agent.kube.clock import Clock, SystemClock
from worker_agent.kube.key_files import key_file
from worker_agent.kube.kubeconfig import ClusterConfig, KubeconfigError
from worker_agent.kube.transport import Request, Response, Transport

CONNECT_TIMEOUT = 10.0
TOKEN_LIFETIME = 60.0
"""Seconds a token read from a file is used before it is read again; the kubelet rotates them much more slowly."""

CONNECTIONS = 256
"""Watches hold one connection each, so the pool is wide; the budget bounds requests, not this."""


def connect(config: ClusterConfig, clock: Clock | None = None) -> Transport:
    """A Transport for ``config``. Nothing is sent yet; bad credentials raise KubeconfigError here."""
    return _KubernetesTransport(config, clock or SystemClock())


def host_of(config: ClusterConfig) -> str:
    """``host:port`` of the API server."""
    server = URL(config.server)
    return f"{server.host}:{server.port}"


class _Answer(aiohttp.ClientResponse):
    """An answer whose connection is cut when it is given up: half read, or while its request was cancelled.

    aiohttp ends TLS gracefully then and waits for the server's word, which one that was killed never sends; nobody
    waits for that end, so the loop may be gone before it.
    """

    def close(self) -> None:
        if self.connection is not None and (carrier := self.connection.transport) is not None:
            carrier.abort()
        super().close()


class _Body:
    """The bytes of an answer. Closed before its end, or before its beginning, it takes the connection with it."""

    def __init__(self, answer: aiohttp.ClientResponse, pieces: AsyncGenerator[bytes, None]) -> None:
        self._answer = answer
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        return self._pieces.__anext__()

    async def aclose(self) -> None:
        await self._pieces.aclose()
        self._answer.close()  # a generator that was not begun does nothing at its end


class _KubernetesTransport:
    def __init__(self, config: ClusterConfig, clock: Clock) -> None:
        self._base = URL(config.server)
        self.host = host_of(config)
        self._shown = str(self._base.with_user(None)) if self._base.user else config.server
        self._config = config
        self._clock = clock
        self._rest = _rest_client(config)
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._token = config.token
        self._token_at = float("-inf")

    async def request(self, request: Request) -> Response:
        token = self._current_token()
        answer = await self._sent(request, token)
        if answer.status == HTTPStatus.UNAUTHORIZED and self._token_besides(token):
            # The token was replaced and is refused already. Who is refused has done nothing: it may be sent again.
            answer.release()
            answer = await self._sent(request, self._token)
        names = {name.lower(): value for name, value in answer.headers.items()}
        return Response(answer.status, names, _Body(answer, self._pieces(answer)))

    async def _sent(self, request: Request, token: str) -> aiohttp.ClientResponse:
        session = self._open_session()
        headers = CIMultiDict(request.headers)
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            return await session.request(
                request.method,
                self._url(request),
                headers=headers,
                data=request.body or None,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
                allow_redirects=False,  # a redirect would carry the token to somebody else
                server_hostname=self._config.tls_server_name or None,
                **self._proxy(),
            )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise self._connection_error(error) from error

    async def close(self) -> None:
        """Closes every connection; streams still open end with ConnectionError."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            # aiohttp closes TLS transports in the next turns of the loop.
            await asyncio.sleep(0)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise ConnectionError(f"{self._shown}: the transport is closed")
        if self._session is None:
            self._session = self._rest._create_pool_manager()
        return self._session

    def _url(self, request: Request) -> URL:
        path = self._base.raw_path.rstrip("/") + request.path
        return self._base.with_path(path, encoded=True).with_query(list(request.query))

    def _proxy(self) -> dict[str, Any]:
        return {"proxy": self._rest.proxy} if self._rest.proxy else {}

    def _current_token(self) -> str:
        path = self._config.token_file
        if not path or self._clock.monotonic() - self._token_at < TOKEN_LIFETIME:
            return self._token
        try:
            with open(path, encoding="ascii") as file:
                token = file.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._token:
                return self._token  # the old one may still be good
            raise ConnectionError(f"{self._shown}: token file {path} cannot be read: {error}") from error
        self._token = token
        self._token_at = self._clock.monotonic()
        return token

    def _token_besides(self, refused: str) -> bool:
        """Whether there is another token than this one: somebody has read it already, or the file has it now."""
        if self._token == refused:
            self._token_at = float("-inf")
            self._current_token()
        return self._token != refused

    async def _pieces(self, answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in answer.content.iter_any():
                yield piece
        except (aiohttp.ClientError, OSError, TimeoutError, RuntimeError) as error:
            # RuntimeError is how aiohttp says that the connection was closed under a reader.
            raise self._connection_error(error) from error
        finally:
            if answer.content.at_eof():
                answer.release()
            else:
                answer.close()  # a stream left early takes its connection with it

    def _connection_error(self, error: BaseException) -> ConnectionError:
        """What went wrong with the connection, without headers or credentials, which errors of aiohttp may quote."""
        detail = _detail(error)
        return ConnectionError(f"{self._shown}: {detail}")


def _detail(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the server's certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy refused: HTTP {error.status}"
    if isinstance(error, aiohttp.ServerTimeoutError | TimeoutError):
        return f"no connection within {CONNECT_TIMEOUT:g} s"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return type(error).__name__


def _rest_client(config: ClusterConfig) -> Any:
    """The official client's REST object: TLS context, connector and proxy as it makes them from a Configuration."""
    try:
        client = official_client.rest_client(
            host=config.server,
            ca_cert_data=config.ca.decode("ascii", "replace") if config.ca else None,
            verify_ssl=not config.insecure_skip_tls_verify,
            tls_server_name=config.tls_server_name or None,
            connection_pool_maxsize=CONNECTIONS,
            proxy=config.proxy_url or proxies.from_environment(config.server),
            # With trust_env aiohttp reads environment and .netrc anew, in threads, for every single request.
            client_session_kwargs={"trust_env": False, "auto_decompress": True, "response_class": _Answer},
        )
    except ssl.SSLError as error:
        raise KubeconfigError(
            f"{config.source}: certificate-authority: not a usable certificate: {error.reason}"
        ) from None
    # Private authorities often lack the extensions that strict checking (Python 3.13) asks for; Go does not check them.
    client.ssl_context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if config.client_certificate and config.client_key:
        _load_pair(client.ssl_context, config)
    return client


def _load_pair(context: ssl.SSLContext, config: ClusterConfig) -> None:
    try:
        with key_file(config.client_certificate or b"", config.client_key or b"") as path:
            context.load_cert_chain(path, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        detail = getattr(error, "reason", None) or "the key is encrypted or unreadable"
        raise KubeconfigError(
            f"{config.source}: client-certificate and client-key: not a usable pair: {detail}"
        ) from None


def _no_password() -> bytes:
    raise ValueError("encrypted client keys are not supported")

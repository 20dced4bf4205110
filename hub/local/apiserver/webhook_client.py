"""Admission calls over HTTPS: aiohttp, one TLS context per CA bundle, services mapped to addresses of this machine."""

import asyncio
import ssl
from typing import Final

import aiohttp
import msgspec

from hub.local.apiserver import dial_errors
from hub.local.apiserver.service_addresses import ServiceAddresses
from hub.local.apiserver.store import decode, encode
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall

IDLE_SECONDS: Final = 90.0
"""apiserver: connections to webhooks are kept as long when idle; a new one is a TLS handshake on both sides."""


def _refusal(status: int) -> str:
    """client-go's words for an HTTP status without a Status."""
    if status >= 500:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    if status == 404:
        return "the server could not find the requested resource"
    return f"the server responded with the status code {status} but did not return more information"


class WebhookClient:
    """Carries out calls; never raises for what the other side does."""

    def __init__(self, services: ServiceAddresses) -> None:
        self._services = services
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[bytes, ssl.SSLContext] = {}

    async def call(self, call: WebhookCall) -> WebhookAnswer:
        shown, url, host = self._address(call)
        if not url:
            return WebhookAnswer(None, f'Post "{shown}": service "{(call.service or ("", ""))[1]}" not found')
        try:
            return await self._post(call, url, host)
        except TimeoutError:
            return WebhookAnswer(None, f'Post "{shown}": context deadline exceeded')
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            return WebhookAnswer(None, f'Post "{shown}": {dial_errors.complaint(error)}')
        except msgspec.DecodeError as error:
            return WebhookAnswer(None, f"couldn't get version/kind; json parse error: {error}")

    def _address(self, call: WebhookCall) -> tuple[str, str, str]:
        """The URL as messages show it, the one to call, and the name the certificate must have."""
        timeout = f"?timeout={call.timeout:g}s"
        if call.service is None:
            return call.url + timeout, call.url + timeout, ""
        namespace, name, port, path = call.service
        host = f"{name}.{namespace}.svc"
        shown = f"https://{host}:{port}{path}{timeout}"
        base = self._services.base(namespace, name, port)
        return shown, f"{base}{path}{timeout}" if base else "", host

    async def _post(self, call: WebhookCall, url: str, host: str) -> WebhookAnswer:
        session = self._opened()
        async with asyncio.timeout(call.timeout):
            async with session.post(
                url,
                data=encode(call.review),
                headers={"content-type": "application/json", "accept": "application/json"},
                ssl=self._context(call.ca_bundle),
                server_hostname=host or None,
            ) as response:
                body = await response.read()
        if response.status != 200:
            return WebhookAnswer(None, _refusal(response.status))
        review = decode(body)
        return WebhookAnswer(review if isinstance(review, dict) else {})

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector)
        return self._session

    def _context(self, bundle: bytes) -> ssl.SSLContext:
        context = self._contexts.get(bundle)
        if context is None:
            context = ssl.create_default_context(cadata=bundle.decode() if bundle else None)
            self._contexts[bundle] = context
        return context

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

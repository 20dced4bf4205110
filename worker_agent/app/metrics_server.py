"""``/metrics`` for Prometheus: HTTPS for those with the right to ``get`` it, as Kueue serves them, or plain HTTP.

An address of ``0`` switches it off. Gauges are computed at the scrape.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from worker_agent.aggregated.access import PathAccess
from worker_agent.app import tls
from worker_agent.app.bearer_access import BearerAccess
from worker_agent.app.health import split_address
from worker_agent.kube.client import Client
from worker_agent.settings import AgentSettings
from worker_agent.webhooks import certificates
from worker_agent.webhooks.shown_certificate import FILES_READ_EVERY_SECONDS, ShownCertificate

log = logging.getLogger(__name__)

DEFAULT_CERT_DIR: Final = "/etc/kueue/metrics/certs"
RIGHT: Final = PathAccess("get", "/metrics")


class MetricsServer:
    """``before_scrape`` brings counters up to date that are kept elsewhere; ``client`` asks about who scrapes."""

    def __init__(
        self,
        settings: AgentSettings,
        registry: CollectorRegistry,
        client: Client,
        before_scrape: Callable[[], None] = lambda: None,
    ) -> None:
        address = settings.metrics.bind_address
        self._off = address == "0"
        self._host, self._port = (None, 0) if self._off else split_address(address)
        self._settings = settings
        self._registry = registry
        self._client = client
        self._before_scrape = before_scrape
        self._access = BearerAccess(client) if settings.metrics.secure_serving else None
        self._runner: web.AppRunner | None = None
        self._certificate: ShownCertificate | None = None
        self.port = self._port

    async def start(self) -> None:
        """Raises OSError when the port is in use."""
        if self._off:
            return
        disable_created_metrics()  # type: ignore[no-untyped-call]
        if self._access is not None:
            self._certificate = ShownCertificate(partial(tls.server_context, self._settings.tls))
            await asyncio.to_thread(self._load_certificate)
        app = web.Application()
        app.router.add_get("/metrics", self._scrape)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=2.0)
        await self._runner.setup()
        context = self._certificate.context if self._certificate is not None else None
        await web.TCPSite(self._runner, self._host, self._port, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def renew(self) -> None:
        """Reads certificates that somebody else manages now and then; runs until cancelled."""
        while self._certificate is not None and self._files is not None:
            await self._client.clock.sleep(FILES_READ_EVERY_SECONDS)
            try:
                await asyncio.to_thread(self._load_certificate)
            except OSError as error:  # ssl.SSLError is one
                log.warning("the certificate for metrics stays as it is: %s", error)

    @property
    def _files(self) -> Path | None:
        if self._settings.internal_cert_management.enable:
            return None
        return Path(self._settings.metrics.cert_dir or DEFAULT_CERT_DIR)

    def _load_certificate(self) -> None:
        """A self-signed one lives as long as the program: nobody is given its authority."""
        assert self._certificate is not None
        folder = self._files
        if folder is not None:
            self._certificate.use_files(folder)
            return
        hosts = ("localhost", "127.0.0.1", f"*.{self._settings.namespace}.svc")
        self._certificate.use(certificates.create(hosts, self._client.clock.now()))

    async def _scrape(self, request: web.Request) -> web.Response:
        if self._access is not None:
            refusal = await self._access.refusal(request.headers, RIGHT)
            if refusal is not None:
                return web.Response(status=refusal.status, text=f"{refusal.text}\n")
        self._before_scrape()
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"content-type": CONTENT_TYPE_LATEST})


class WriteCounts:
    """Hands the growth of a client's own count of writes to a metric."""

    def __init__(self, writes: Counter[tuple[str, str, str]], told: Callable[[str, str, str, int], None]) -> None:
        self._writes = writes
        self._told = told
        self._last: Counter[tuple[str, str, str]] = Counter()

    def update(self) -> None:
        for key, count in self._writes.items():
            if count > self._last[key]:
                self._told(*key, count - self._last[key])
                self._last[key] = count

"""``/metrics`` over HTTP, for Prometheus. An address of ``0`` switches it off."""

from collections import Counter
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from worker_agent.app.health import split_address


class MetricsServer:
    """``before_scrape`` brings counters up to date that are kept elsewhere."""

    def __init__(
        self, address: str, registry: CollectorRegistry, before_scrape: Callable[[], None] = lambda: None
    ) -> None:
        self._off = address == "0"
        self._host, self._port = (None, 0) if self._off else split_address(address)
        self._registry = registry
        self._before_scrape = before_scrape
        self._runner: web.AppRunner | None = None
        self.port = self._port

    async def start(self) -> None:
        """Raises OSError when the port is in use."""
        if self._off:
            return
        disable_created_metrics()  # type: ignore[no-untyped-call]
        app = web.Application()
        app.router.add_get("/metrics", self._scrape)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _scrape(self, request: web.Request) -> web.Response:
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

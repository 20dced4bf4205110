"""Liveness and readiness over plain HTTP, for probes and for whoever starts the program."""

from collections.abc import Callable

from aiohttp import web

ROLE_HEADER = "fedhub-replica-role"


def split_address(address: str) -> tuple[str | None, int]:
    """``127.0.0.1:8081`` or ``:8081`` as host (None: all interfaces) and port. Raises ValueError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"address {address!r}: must be host:port or :port")
    return host.strip("[]") or None, int(port)


class HealthServer:
    """Answers 200 on ``liveness`` always and on ``readiness`` once ``ready()``; 503 with the reason before.

    ``role`` of the replica stands in a header of both answers.
    """

    def __init__(
        self,
        address: str,
        *,
        liveness: str,
        readiness: str,
        ready: Callable[[], str],
        role: Callable[[], str] = lambda: "",
    ) -> None:
        self._host, self._port = split_address(address)
        self._paths = (f"/{liveness.strip('/')}", f"/{readiness.strip('/')}")
        self._ready = ready
        self._role = role
        self._runner: web.AppRunner | None = None
        self.port = self._port

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get(self._paths[0], self._alive)
        app.router.add_get(self._paths[1], self._answer_ready)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _alive(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n", headers=self._headers())

    async def _answer_ready(self, request: web.Request) -> web.Response:
        """The text of a refusal is what is still missing."""
        missing = self._ready()
        return web.Response(status=503 if missing else 200, text=f"{missing or 'ok'}\n", headers=self._headers())

    def _headers(self) -> dict[str, str]:
        role = self._role()
        return {ROLE_HEADER: role} if role else {}

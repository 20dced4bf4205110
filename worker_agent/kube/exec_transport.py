"""A Transport that logs in with what a credential plugin says, and asks it again when that expires or is refused."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple

from worker_agent.kube import exec_plugin, kubernetes_transport
from worker_agent.kube.clock import Clock, SystemClock
from worker_agent.kube.exec_plugin import ExecCredential, ExecPlugin, PluginError
from worker_agent.kube.kubeconfig import ClusterConfig
from worker_agent.kube.transport import Request, Response, Transport

Run = Callable[[ExecPlugin], Awaitable[ExecCredential]]
Connect = Callable[[ClusterConfig], Transport]


def connect(config: ClusterConfig) -> Transport:
    """A Transport for a kubeconfig that may log in by a plugin. Nothing is sent yet. Raises KubeconfigError."""
    if config.exec_plugin is None:
        return kubernetes_transport.connect(config)
    return ExecTransport(replace(config, exec_plugin=None), config.exec_plugin)


class _Login(NamedTuple):
    credential: ExecCredential
    transport: Transport


class ExecTransport:
    """``plugin`` gives the identity, what it does not give is ``config``'s. Nothing is run before the first request.

    One run serves all requests that wait for it, and goes on when they give up. A new certificate needs new
    connections; streams on the old ones go on until their server ends them or there is a third.
    """

    def __init__(
        self,
        config: ClusterConfig,
        plugin: ExecPlugin,
        clock: Clock | None = None,
        *,
        run: Run = exec_plugin.run,
        connect: Connect = kubernetes_transport.connect,
    ) -> None:
        self._config = config
        self.host = kubernetes_transport.host_of(config)
        self._plugin = plugin
        self._clock = clock or SystemClock()
        self._run = run
        self._connect = connect
        self._login: _Login | None = None
        self._former: Transport | None = None
        self._running: asyncio.Task[_Login] | None = None

    async def request(self, request: Request) -> Response:
        login = await self._logged_in()
        response = await login.transport.request(_signed(request, login.credential))
        if response.status != HTTPStatus.UNAUTHORIZED:
            return response
        await response.close()
        login = await self._logged_in(refused=login)
        return await login.transport.request(_signed(request, login.credential))

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        for transport in (self._former, self._login.transport if self._login is not None else None):
            if transport is not None:
                await transport.close()

    async def _logged_in(self, refused: _Login | None = None) -> _Login:
        """The login to use; another one than ``refused``. Raises PluginError."""
        login = self._login
        if login is not None and login is not refused and not login.credential.is_expired(self._clock.now()):
            return login
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._log_in(), name=f"credential plugin {self._plugin.command}")
            # Whoever started it may have gone.
            self._running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._running)

    async def _log_in(self) -> _Login:
        credential = await self._run(self._plugin)
        before = self._login
        if before is not None and _pair(before.credential) == _pair(credential):
            transport = before.transport
        else:
            certificate, key = _pair(credential)
            own = self._config.client_certificate, self._config.client_key
            shown, its_key = (certificate, key) if certificate else own
            identity = replace(self._config, client_certificate=shown, client_key=its_key)
            try:
                transport = self._connect(identity)
            except ValueError as error:
                message = f"getting credentials: no connection can be made with what the exec plugin returned: {error}"
                raise PluginError(message) from None
            if self._former is not None:
                await self._former.close()
            self._former = before.transport if before is not None else None
        self._login = _Login(credential, transport)
        return self._login


def _pair(credential: ExecCredential) -> tuple[bytes, bytes]:
    return credential.client_certificate, credential.client_key


def _signed(request: Request, credential: ExecCredential) -> Request:
    if not credential.token:
        return request
    return replace(request, headers={**request.headers, "authorization": f"Bearer {credential.token}"})

"""Keeps the Available condition of APIServices true, and remembers what the servers behind them serve.

Looked at when an APIService or Service was written, and every half minute: only asking tells whether another server
is still there.
"""

import asyncio
import logging
from collections.abc import Sequence

from hub.local.apiserver import aggregation
from hub.local.apiserver.aggregation import Aggregation, Registration
from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.bootstrap import SELF
from hub.local.apiserver.relay_client import RelayClient
from hub.local.apiserver.resources import APISERVICES, SERVICES
from hub.local.apiserver.store import Event, encode
from worker_agent.kube.transport import Request

_logger = logging.getLogger(__name__)
_SECONDS_BETWEEN = 30.0
_HEADERS = {"content-type": "application/merge-patch+json", "user-agent": "kube-apiserver"}


class Availability:
    """Runs until ``stop``."""

    def __init__(self, server: ApiServer, client: RelayClient) -> None:
        self._server = server
        self._client = client
        self._written = asyncio.Event()
        self._written.set()
        self._task: asyncio.Task[None] | None = None
        server.listeners.append(self._note)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _note(self, events: Sequence[Event]) -> None:
        if any(event.store in (APISERVICES, SERVICES) for event in events):
            self._written.set()

    async def _run(self) -> None:
        state = self._server.core.state
        known: Aggregation = state.aggregation
        while True:
            registrations = known.registrations(state)
            try:
                async with asyncio.timeout(_SECONDS_BETWEEN if registrations else None):
                    await self._written.wait()
            except TimeoutError:
                pass
            self._written.clear()
            for registration in known.registrations(state):
                try:
                    await self._look(known, registration)
                except Exception:
                    _logger.exception("APIService %s could not be looked at", registration.name)

    async def _look(self, known: Aggregation, registration: Registration) -> None:
        found = await self._client.probe(registration)
        key = (registration.group, registration.version)
        if found.ok:
            known.resources[key] = found.resources
        before, now = registration.conditions, self._server.clock.now()
        conditions = aggregation.available_condition(found.ok, found.reason, found.message, before, now)
        if conditions == list(before):
            return
        path = f"/apis/apiregistration.k8s.io/v1/apiservices/{registration.name}/status"
        patch = {"status": {"conditions": conditions}}
        await self._server.answer(Request("PATCH", path, (), _HEADERS, encode(patch)), SELF)

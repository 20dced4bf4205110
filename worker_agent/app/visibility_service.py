"""The visibility API as part of a program: who may read a queue, and the answer from the engine's published view.

Served by every replica, each from what it knows itself (spec/operations 6). The API server has checked a user's rights
before it sends a request on; they are asked for here again, so that the API is safe whoever sends requests.
"""

import logging
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from worker_agent.aggregated.access import Access, Decisions
from worker_agent.aggregated.front_proxy import User
from worker_agent.aggregated.registration import API_SERVICES, KEEP, KEPT, Registration, unregister
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.app.agent import Agent
from worker_agent.app.aggregated_service import AggregatedService, ServedApi
from worker_agent.kube.errors import ApiError, BadRequest, Forbidden, NotFound
from worker_agent.settings import AgentSettings
from worker_agent.visibility import discovery, question, summary
from worker_agent.visibility.question import (
    GROUP,
    SUBRESOURCE,
    VERSIONS,
    DiscoveryQuestion,
    Page,
    QueueQuestion,
    UnknownPath,
    WrongQuery,
)

log = logging.getLogger(__name__)

GATE: Final = "VisibilityOnDemand"
SECRET: Final = "fedhub-visibility-cert"
DEFAULT_CERT_DIR: Final = "/visibility"

NEEDS = (need.of(API_SERVICES, *KEEP, names=tuple(f"{version}.{GROUP}" for version in VERSIONS), unseen=KEPT),)


class VisibilityApi:
    """``answer`` is what the aggregated server serves."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._decisions = Decisions(agent.client)

    async def answer(self, request: web.Request, user: User) -> web.StreamResponse:
        """Raises ApiError, ConnectionError."""
        try:
            asked = question.read(request.path)
            if request.method not in ("GET", "HEAD"):
                raise ApiError(
                    405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
                )
            if isinstance(asked, DiscoveryQuestion):
                return _json(discovery.of(asked))
            page = Page.read(request.query)
        except UnknownPath:
            raise NotFound(404, "NotFound", "the server could not find the requested resource") from None
        except WrongQuery as error:
            raise BadRequest(400, "BadRequest", str(error)) from None
        await self._check(user, asked)
        found = summary.of(self._agent.engine.view, asked, page)
        if found is None:
            singular = asked.plural.removesuffix("s")
            raise NotFound(404, "NotFound", f'{singular}.{GROUP} "{asked.name}" not found')
        return _json(found)

    async def _check(self, user: User, asked: QueueQuestion) -> None:
        access = Access("get", asked.namespace, asked.plural, SUBRESOURCE, GROUP, asked.name, asked.version)
        if not await self._decisions.is_allowed(user, access):
            message = f'{asked.plural}.{GROUP} "{asked.name}" is forbidden: User "{user.name}" {access}'
            raise Forbidden(403, "Forbidden", message)


class VisibilityService:
    """``run`` serves and registers the API until cancelled; with the gate off it takes the registration back."""

    def __init__(self, agent: Agent) -> None:
        settings = agent.configuration.settings
        self._agent = agent
        self._registrations = registrations(settings)
        self._on = agent.configuration.gates[GATE]
        stanza = settings.visibility_server
        files = None if settings.internal_cert_management.enable else Path(stanza.cert_dir or DEFAULT_CERT_DIR)
        api = ServedApi(
            "pending workloads",
            stanza.bind_address or None,
            stanza.bind_port,
            self._registrations,
            SECRET,
            settings.tls,
            files,
        )
        self.service = AggregatedService(agent.client, settings.namespace, api, VisibilityApi(agent).answer)

    async def run(self) -> None:
        """Raises OSError when the port is in use; an API server that is away is waited for."""
        await self._agent.ready.wait()
        if self._on:
            await self.service.run()
            return
        try:
            for registration in self._registrations:
                await unregister(self._agent.client, registration)
        except (ApiError, ConnectionError) as error:
            log.warning("the visibility API is off, and its registration stays: %s", error)


def attach(agent: Agent) -> VisibilityService:
    """Serve the API with the agent, on every replica."""
    made = VisibilityService(agent)
    agent.add_always(made.run)
    return made


def registrations(settings: AgentSettings) -> tuple[Registration, ...]:
    """One for each version served."""
    stanza = settings.visibility_server
    return tuple(
        Registration(GROUP, version, settings.namespace, stanza.service_name, stanza.service_port, stanza.external_host)
        for version in VERSIONS
    )


def _json(document: Document) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), content_type="application/json")

"""Agents that dial in, as part of the hub: the listener, the links, and what the cluster controller asks about them."""

import logging
from collections.abc import Callable
from typing import Final

from hub.app.configuration import AgentService, FederationConfiguration
from hub.clusters.agents import listener, records
from hub.clusters.agents.enrolments import Enrolments
from hub.clusters.agents.links import AgentLinks
from hub.clusters.agents.listener import AgentListener, Door
from hub.clusters.agents.records import Record
from hub.clusters.agents.tunnel_transport import TunnelTransport
from hub.clusters.credentials import Credential
from hub.clusters.remote_clients import ConnectionFailed
from hub.metrics import HubMetrics
from worker_agent.api.document import Document
from worker_agent.app.agent import Agent
from worker_agent.kube.errors import ApiError
from worker_agent.kube.informer import Event, Informer
from worker_agent.kube.transport import Transport
from worker_agent.tunnel.protocol import Replica

log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 600.0


class AgentDoor:
    """``links`` are those of this replica; ``listener`` runs on every replica, led or not."""

    def __init__(
        self,
        agent: Agent,
        configuration: FederationConfiguration,
        served: AgentService,
        secrets: Informer[Document],
        metrics: HubMetrics,
    ) -> None:
        self.links = AgentLinks(self._changed)
        self._clock = agent.clock
        self._secrets = secrets
        self._namespace = configuration.namespace
        self._metrics = metrics
        self._handlers: list[Callable[[str], None]] = []
        self._enrolments = Enrolments(agent.client, configuration.namespace, served.certificate_validity)
        self._agent = agent
        names = listener.names_of(served.addresses)
        door = Door(served.host, served.port, names, served.heartbeat, self._replica)
        self.listener = AgentListener(door, self._enrolments, self.links, agent.clock, metrics.tunnel_traffic)
        secrets.add_handler(self._secret_changed)
        agent.add_always(self.listener.run)
        agent.add(self._sweep)

    # What the credentials of clusters rest on (AgentDirectory).

    def enrolled(self, agent: str) -> bool:
        return self._record(agent) is not None

    def meeting(self, agent: str) -> int:
        return self.links.meeting(agent)

    def add_change_handler(self, handler: Callable[[str], None]) -> None:
        """``handler(agent)`` when it enrolled, connected, or left."""
        self._handlers.append(handler)

    def transport(self, agent: str) -> Transport:
        """Raises ConnectionFailed where the agent is not connected."""
        if self.links.current(agent) is None:
            raise ConnectionFailed(self.links.absence(agent), "AgentNotConnected")
        return TunnelTransport(self.links, agent, self._metrics.tunnel_request)

    def _replica(self) -> Replica:
        return Replica(self._agent.surroundings.identity, self._agent.leader)

    def _record(self, agent: str) -> Record | None:
        return Record.read(self._secrets.get(records.key(self._namespace, agent)))

    def _changed(self, agent: str) -> None:
        connected = self.links.current(agent) is not None
        if connected or self.enrolled(agent):
            self._metrics.tunnel(agent, connected)
        else:
            self._metrics.forget_tunnel(agent)
        for handler in self._handlers:
            handler(agent)

    def _secret_changed(self, event: Event[Document]) -> None:
        """An enrolment that is withdrawn or replaced ends the connections that rest on it."""
        name = event.key.name
        if not name.startswith(records.SECRET_PREFIX):
            return
        agent = name.removeprefix(records.SECRET_PREFIX)
        record = self._record(agent)
        self.links.revoke(agent, record.enrolment if record is not None else "")
        self._changed(agent)

    async def _sweep(self) -> None:
        while True:
            try:
                await self._enrolments.sweep(list(self._secrets.values()))
            except (ApiError, ConnectionError) as error:
                log.warning("expired enrolment tokens are not swept yet: %s", error)
            await self._clock.sleep(SWEEP_SECONDS)


def transport_of(
    door: AgentDoor | None, otherwise: Callable[[Credential], Transport]
) -> Callable[[Credential], Transport]:
    """How the hub reaches workers: through the door where an agent dials in, else by ``otherwise``."""

    def transport(credential: Credential) -> Transport:
        if credential.agent and door is not None:
            return door.transport(credential.agent)
        return otherwise(credential)

    return transport

"""The Transport of a worker whose agent dials in: the rest of the hub does not see the difference."""

from collections.abc import Callable

from hub.clusters.agents.links import AgentLinks
from worker_agent.kube.transport import Request, Response
from worker_agent.tunnel.caller import NotSent

Told = Callable[[str, str], None]
"""``told(agent, outcome)`` with the answer's status, or ``failed``."""


class AgentNotConnected(ConnectionError):
    """No connection of that agent is there."""


class TunnelTransport:
    """Every request goes over the link that is current when it is sent; links come and go beneath."""

    def __init__(self, links: AgentLinks, agent: str, told: Told = lambda agent, outcome: None) -> None:
        self._links = links
        self._agent = agent
        self.host = agent
        self._told = told
        self._closed = False

    async def request(self, request: Request) -> Response:
        try:
            response = await self._sent(request)
        except ConnectionError:
            self._told(self._agent, "failed")
            raise
        self._told(self._agent, str(response.status))
        return response

    async def close(self) -> None:
        """The links are the agent's and stay."""
        self._closed = True

    async def _sent(self, request: Request) -> Response:
        while True:
            link = self._links.current(self._agent)
            if link is None or self._closed:
                raise AgentNotConnected(self._links.absence(self._agent) if link is None else "the transport is closed")
            try:
                return await link.session_for(request).request(request)
            except NotSent:
                # While it waited for its turn another link took over: nothing has left, so it goes there.
                if self._links.current(self._agent) is link:
                    raise

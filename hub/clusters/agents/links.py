"""The connections that agents hold to this replica of the hub. One owner, the event loop; nothing here waits."""

from collections.abc import Callable
from dataclasses import dataclass, field

from worker_agent.kube.transport import Request
from worker_agent.tunnel.caller import Caller
from worker_agent.tunnel.protocol import AgentName, Purpose


@dataclass(frozen=True, slots=True)
class Greeting:
    """What an agent says when it connects; ``link`` is the same for the two connections of one dial."""

    name: AgentName
    link: str
    purpose: Purpose


@dataclass(eq=False, slots=True)
class Link:
    """Complete when both connections are there; retired when another has taken its place."""

    sessions: dict[Purpose, Caller] = field(default_factory=dict)
    retired: bool = False

    @property
    def complete(self) -> bool:
        return len(self.sessions) == len(Purpose)

    def session_for(self, request: Request) -> Caller:
        """Lists, watches and followed logs keep to one connection, everything that is small and urgent to the other."""
        long = request.method == "GET" and any(name in ("watch", "limit", "follow") for name, _ in request.query)
        return self.sessions[Purpose.COLLECTIONS if long else Purpose.REQUESTS]


class AgentLinks:
    """``on_change(agent)`` hears when an agent comes into contact and when it goes."""

    def __init__(self, on_change: Callable[[str], None] = lambda agent: None) -> None:
        self._on_change = on_change
        self._links: dict[tuple[AgentName, str], Link] = {}
        self._current: dict[str, Link] = {}
        self._meetings: dict[str, int] = {}
        self._last_words: dict[str, str] = {}

    def add_change_handler(self, handler: Callable[[str], None]) -> None:
        before = self._on_change

        def both(agent: str) -> None:
            before(agent)
            handler(agent)

        self._on_change = both

    def current(self, agent: str) -> Link | None:
        return self._current.get(agent)

    def agents(self) -> list[str]:
        return list(self._current)

    def meeting(self, agent: str) -> int:
        """Grows each time the agent comes into contact: what failed before may be tried at once."""
        return self._meetings.get(agent, 0)

    def absence(self, agent: str) -> str:
        """Why there is no connection, for a condition."""
        told = self._last_words.get(agent, "")
        return f'agent "{agent}" is not connected' + (f": {told}" if told else "")

    def attach(self, greeting: Greeting, session: Caller) -> None:
        """A connection is there. The second of a link makes it the agent's current one; an older one is retired."""
        key = (greeting.name, greeting.link)
        link = self._links.setdefault(key, Link())
        link.sessions[greeting.purpose] = session
        if not link.complete:
            return
        agent = greeting.name.agent
        before = self._current.get(agent)
        self._current[agent] = link
        if before is not None:
            before.retired = True
            for old in before.sessions.values():
                old.retire()
            return
        self._meetings[agent] = self.meeting(agent) + 1
        self._on_change(agent)

    def detach(self, greeting: Greeting, session: Caller, reason: str) -> None:
        """A connection ended; its link is of no use any more."""
        link = self._links.get((greeting.name, greeting.link))
        if link is None or link.sessions.get(greeting.purpose) is not session:
            return
        del link.sessions[greeting.purpose]
        if not link.sessions:
            del self._links[greeting.name, greeting.link]
        if link.retired:
            return  # its two connections close by themselves, each when nothing is under way on it
        for other in link.sessions.values():
            other.end()
        agent = greeting.name.agent
        if self._current.get(agent) is link:
            del self._current[agent]
            self._last_words[agent] = reason
            self._on_change(agent)

    def revoke(self, agent: str, enrolment: str = "") -> None:
        """End every connection of ``agent`` except those of this enrolment."""
        for (name, _), link in list(self._links.items()):
            if name.agent == agent and name.enrolment != enrolment:
                for session in list(link.sessions.values()):
                    session.end()

"""What an agent and its hub agree on: paths, headers, documents, and how a certificate names an agent. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

import msgspec

AUTHORITY_PATH: Final = "/fedhub/v1/authority"
"""GET: the hub's certificate authority, PEM; asked before anything is trusted, and compared with the pin."""
ENROL_PATH: Final = "/fedhub/v1/enrol"
"""POST of an Application, without a client certificate: the token is the proof."""
RENEW_PATH: Final = "/fedhub/v1/renew"
"""POST of an Application, with the certificate that is to be followed by another."""
REPLICA_PATH: Final = "/fedhub/v1/replica"
"""GET, with the certificate: a Replica. One address may lead to several; who asks on a connection, and opens its
WebSocket on the same one, knows where it goes."""
TUNNEL_PATH: Final = "/fedhub/v1/tunnel"
"""WebSocket, with the certificate."""

LINK_HEADER: Final = "fedhub-link"
PURPOSE_HEADER: Final = "fedhub-purpose"
CLUSTER_HEADER: Final = "fedhub-cluster-uid"
REPLICA_HEADER: Final = "fedhub-replica"
"""Which replica an agent means; others refuse it. Empty or left out: any."""
PROBLEM_HEADER: Final = "fedhub-problem"
"""On a refused WebSocket, whose body no client gets to see: why."""

_SCHEME: Final = "fedhub-agent"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")
_ENROLMENT: Final = re.compile(r"[a-z0-9]{1,64}\Z")
LONGEST_NAME: Final = 200
"""Of an agent's name: Secrets are called after it, and those end at 253."""


class Purpose(StrEnum):
    """A link is two connections, so that no list or watch ever stands before a renewal of a lease."""

    REQUESTS = "requests"
    COLLECTIONS = "collections"


class Application(msgspec.Struct, rename="camel"):
    """What an agent asks a certificate with. ``request`` is a certificate request, PEM."""

    agent: str
    request: str
    cluster_uid: str
    token: str = ""

    def __repr__(self) -> str:
        return f"Application(agent={self.agent!r}, token=..., request=...)"


class Issued(msgspec.Struct):
    """A certificate and the authority to know the hub by, PEM."""

    certificate: str
    authority: str


ReplicaName = Annotated[str, msgspec.Meta(max_length=512, pattern=r"^[ -~]*\Z")]
"""What fits into a header."""


class Replica(msgspec.Struct, frozen=True):
    """Who answers, and who leads as far as it knows; empty where nobody does."""

    name: ReplicaName = ""
    leader: ReplicaName = ""


class Problem(msgspec.Struct):
    """Why the hub refuses; the text is for whoever runs the command."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class AgentName:
    """Who a certificate says its holder is: an agent, by one enrolment. Another enrolment makes it worthless."""

    agent: str
    enrolment: str

    @property
    def uri(self) -> str:
        return f"{_SCHEME}://{self.agent}/{self.enrolment}"

    @classmethod
    def from_uris(cls, uris: tuple[str, ...]) -> Self | None:
        """None unless there is exactly one, and it is of our form."""
        if len(uris) != 1:
            return None
        scheme, _, rest = uris[0].partition("://")
        agent, _, enrolment = rest.partition("/")
        if scheme != _SCHEME or not is_agent_name(agent) or not _ENROLMENT.match(enrolment):
            return None
        return cls(agent, enrolment)


def is_agent_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and _NAME.match(text) is not None


def address(text: str) -> str:
    """A hub's address in its normal form ``https://host:port``. Raises ValueError."""
    try:
        parts = urlsplit(text)
        port = parts.port or 443
    except ValueError:  # says nothing of the text
        raise ValueError(f"{text}: must be https://host:port") from None
    if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
        raise ValueError(f"{text}: must be https://host:port")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}:{port}"

"""Who this agent is to its hub: kept in a Secret of its own cluster, where no hub can read it.

While an agent joins, the Secret holds its key and no certificate: a join that is repeated goes on with that key.
"""

import base64
import binascii
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Self

import msgspec

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import SECRETS
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError, KeyPair
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound

SECRET_NAME: Final = "fedhub-agent-identity"
SECRET_TYPE: Final = "fedhub.dev/agent-identity"
FIELD_MANAGER: Final = "fedhub-agent"
RENEWED_AT: Final = 2 / 3
"""The share of a certificate's life after which the next one is asked for."""


JOINING = "asked for by those who join a cluster, with rights of their own, and at the renewal after a month"
NEEDS = (need.of(SECRETS, "get", "create", "patch", "delete", place=Place.OWN_NAMESPACE, unseen=JOINING),)


class IdentityError(ValueError):
    """The stored identity cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Identity:
    """``certificate`` is empty while joining; ``hubs`` are addresses of all replicas of one hub. PEM throughout."""

    agent: str
    hubs: tuple[str, ...]
    authority: bytes
    key: bytes
    certificate: bytes = b""
    token_id: str = ""

    def __repr__(self) -> str:
        return f"Identity(agent={self.agent!r}, hubs={self.hubs!r}, key=...)"

    @property
    def pair(self) -> KeyPair:
        return KeyPair(self.certificate, self.key)

    @property
    def expires_at(self) -> datetime:
        return authority.read_peer(self.certificate).expires_at

    def renewal_at(self, share: float = RENEWED_AT) -> datetime:
        """When ``share`` of the certificate's life is over."""
        peer = authority.read_peer(self.certificate)
        life: timedelta = peer.expires_at - peer.issued_at
        return peer.issued_at + life * share

    def with_certificate(self, key: bytes, certificate: bytes, authority_pem: bytes) -> Self:
        return replace(self, key=key, certificate=certificate, authority=authority_pem, token_id="")

    def document(self, namespace: str) -> Document:
        data = {
            "agent": self.agent.encode(),
            "hubs": "\n".join(self.hubs).encode(),
            "ca.crt": self.authority,
            "tls.key": self.key,
            "tls.crt": self.certificate,
            "token-id": self.token_id.encode(),
        }
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET_NAME, "namespace": namespace},
            "type": SECRET_TYPE,
            "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
        }

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Raises IdentityError."""
        data = document.get("data") or {}
        try:
            values = {name: base64.b64decode(text, validate=True) for name, text in data.items()}
            found = cls(
                values["agent"].decode(),
                tuple(values["hubs"].decode().split()),
                values["ca.crt"],
                values["tls.key"],
                values.get("tls.crt", b""),
                values.get("token-id", b"").decode(),
            )
            if found.certificate:
                authority.read_peer(found.certificate)
        except (KeyError, UnicodeDecodeError, binascii.Error, TypeError, AuthorityError) as error:
            detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise IdentityError(f"Secret {SECRET_NAME}: {detail}; delete it and join again with a new token") from None
        return found


class IdentityStore:
    """Reads and writes the Secret in the agent's own ``namespace``. Raises ApiError and ConnectionError."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def load(self) -> Identity | None:
        """Raises IdentityError too."""
        try:
            raw = await self._client.get(SECRETS, SECRET_NAME, self._namespace)
        except NotFound:
            return None
        return Identity.from_document(msgspec.json.decode(raw))

    async def save(self, identity: Identity) -> None:
        document = identity.document(self._namespace)
        await self._client.apply(SECRETS, SECRET_NAME, self._namespace, document, field_manager=FIELD_MANAGER)

    async def delete(self) -> bool:
        """False where there was none."""
        try:
            await self._client.delete(SECRETS, SECRET_NAME, self._namespace)
        except NotFound:
            return False
        return True

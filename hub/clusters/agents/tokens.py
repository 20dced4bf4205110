"""One-time enrolment tokens: what a Secret keeps of them, and whether one may still be used. Pure.

The Secret holds a hash: who can read it cannot enrol with it. A token belongs to the first key that shows it, so that
an agent whose answer was lost may ask again, and nobody else.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at

SECRET_PREFIX: Final = "fedhub-enrolment-"
_FORM: Final = re.compile(r"(?P<id>[a-z0-9]{8})\.(?P<secret>[A-Za-z0-9_-]{32,128})\Z")


class TokenRefused(Exception):
    """The token cannot be used; the text is told to whoever shows it, and tells nothing that they did not know."""


@dataclass(frozen=True, slots=True)
class Token:
    """``id`` may be shown to anybody and names the enrolment; ``secret`` may not."""

    id: str
    secret: str

    def __repr__(self) -> str:
        return f"Token(id={self.id!r}, secret=...)"

    @property
    def text(self) -> str:
        return f"{self.id}.{self.secret}"

    @property
    def secret_name(self) -> str:
        return SECRET_PREFIX + self.id

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises TokenRefused."""
        found = _FORM.match(text)
        if found is None:
            raise TokenRefused("the token is not in the form that `fedhub enroll` prints")
        return cls(found["id"], found["secret"])


def document(token: Token, agent: str, namespace: str, expires_at: datetime, owner: Document | None) -> Document:
    """The Secret that stands for the token. With its ``owner``, the MultiKueueCluster, it goes away."""
    metadata: Document = {"name": token.secret_name, "namespace": namespace}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    data = {"agent": agent, "token-hash": _hash(token.secret), "expires-at": timestamps.rfc3339(expires_at)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": names.ENROLMENT_TOKEN_SECRET_TYPE,
        "data": {name: _encoded(value) for name, value in data.items()},
    }


def check(secret: Document | None, token: Token, agent: str, fingerprint: str, now: datetime) -> None:
    """Raises TokenRefused unless ``agent`` may enrol the key with this fingerprint."""
    known = secret is not None and secret.get("type") == names.ENROLMENT_TOKEN_SECRET_TYPE
    if secret is None or not known or not hmac.compare_digest(_value(secret, "token-hash"), _hash(token.secret)):
        raise TokenRefused(f"the token is not known, or has expired; get a new one: fedhub enroll {agent}")
    if _value(secret, "agent") != agent:
        raise TokenRefused(f"the token was not issued for {agent!r}")
    if is_expired(secret, now):
        raise TokenRefused(f"the token has expired; get a new one: fedhub enroll {agent}")
    used_by = _value(secret, "used-by")
    if used_by and not hmac.compare_digest(used_by, fingerprint):
        raise TokenRefused(f"the token has been used already; get a new one: fedhub enroll {agent}")


def used(secret: Document, fingerprint: str) -> Document:
    """The Secret, bound to the key that showed the token."""
    return {**secret, "data": {**secret["data"], "used-by": _encoded(fingerprint)}}


def is_token(secret: Document) -> bool:
    return secret.get("type") == names.ENROLMENT_TOKEN_SECRET_TYPE


def is_expired(secret: Document, now: datetime) -> bool:
    try:
        return now >= timestamps.parse(_value(secret, "expires-at"))
    except ValueError:
        return True


def agent_of(secret: Document) -> str:
    return _value(secret, "agent")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _encoded(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def _value(secret: Document, key: str) -> str:
    try:
        return base64.b64decode(value_at(secret, "data", {}).get(key, ""), validate=True).decode()
    except (ValueError, TypeError):
        return ""

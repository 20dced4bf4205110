"""Bearer tokens and client certificates to identities. There is always authentication; nobody is anonymous."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from hub.local.apiserver.identity import Identity, member


@dataclass(frozen=True, slots=True)
class Authenticator:
    """``tokens`` maps each bearer token to who holds it."""

    tokens: Mapping[str, Identity] = field(default_factory=dict)

    def token(self, text: str) -> Identity | None:
        """The holder of a token. Compared in constant time: tokens are secrets."""
        found = None
        for known, identity in self.tokens.items():
            if hmac.compare_digest(known.encode(), text.encode()):
                found = identity
        return found

    def request(self, authorization: str, subject: tuple[tuple[tuple[str, str], ...], ...] | None) -> Identity | None:
        """From an Authorization header, else from the subject of a verified client certificate."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return self.token(token.strip())
        return certificate_identity(subject) if subject else None


def certificate_identity(subject: tuple[tuple[tuple[str, str], ...], ...]) -> Identity | None:
    """CN is the user, each O a group, as in Kubernetes. ``subject`` is as ssl's getpeercert gives it."""
    pairs = [pair for group in subject for pair in group]
    user = next((value for name, value in pairs if name == "commonName"), "")
    groups = tuple(value for name, value in pairs if name == "organizationName")
    return member(user, groups) if user else None

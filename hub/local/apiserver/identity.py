"""Who asks."""

from collections.abc import Mapping
from dataclasses import dataclass

from worker_agent.api.document import Document

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user as authentication found it. Everyone who was recognised is in ``system:authenticated``."""

    user: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    credential: str = ""
    """What was shown, for audits: ``X509SHA256=`` and the digest of a client certificate."""


ADMIN = Identity("kubernetes-admin", (MASTERS, AUTHENTICATED))
"""What the in-process transport uses unless told otherwise."""


def impersonated(identity: Identity, headers: Mapping[str, str]) -> Identity:
    """Who the request wants to be taken for (``kubectl --as``); everybody may, since authorisation is off."""
    user = headers.get("impersonate-user", "")
    if not user:
        return identity
    groups = tuple(group for group in headers.get("impersonate-group", "").split(",") if group)
    return member(user, groups, headers.get("impersonate-uid", ""))


def member(user: str, groups: tuple[str, ...] = (), uid: str = "") -> Identity:
    """An identity with the group of all who were recognised added."""
    return Identity(user, groups if AUTHENTICATED in groups else (*groups, AUTHENTICATED), uid)


def user_info(identity: Identity) -> Document:
    """A ``UserInfo`` of the authentication API."""
    info: Document = {"username": identity.user, "groups": list(identity.groups)}
    if identity.uid:
        info["uid"] = identity.uid
    if identity.credential:
        info["extra"] = {"authentication.kubernetes.io/credential-id": [identity.credential]}
    return info

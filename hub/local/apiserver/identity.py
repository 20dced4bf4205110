"""Who asks."""

from dataclasses import dataclass

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user as authentication found it. Everyone who was recognised is in ``system:authenticated``."""

    user: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""


ADMIN = Identity("kubernetes-admin", (MASTERS, AUTHENTICATED))
"""What the in-process transport uses unless told otherwise."""


def member(user: str, groups: tuple[str, ...] = (), uid: str = "") -> Identity:
    """An identity with the group of all who were recognised added."""
    return Identity(user, groups if AUTHENTICATED in groups else (*groups, AUTHENTICATED), uid)

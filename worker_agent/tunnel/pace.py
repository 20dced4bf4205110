"""How long an agent waits before it dials an address of the hub again. Pure: time and chance are arguments.

An address may lead to several replicas of the hub, each dial to whichever one a Service picks. So an agent dials on,
quickly until it holds a link to the replica that leads, rarely afterwards, for there may be others that it has not met:
the next leader is one of them. Pauses grow, and a dial that comes out where nothing is missing costs a handshake.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FIRST_PAUSE_SECONDS: Final = 0.25
SEARCHING_SECONDS: Final = 0.5
"""The longest pause of who holds no link to the leader and is answered by others, ..."""
SEARCHING_DIALS: Final = 40
"""... for so many dials; ..."""
LEADERLESS_SECONDS: Final = 2.0
"""... and afterwards, or while nobody leads."""
SETTLED_SECONDS: Final = 20.0
"""The longest pause of who holds a link to the leader: with chance, a replica that is 30 s old has been met."""
GROWTH: Final = 1.5
"""Of pauses between dials that come out at known replicas; where there is trouble they double."""
TROUBLED_SECONDS: Final = 30.0
"""The longest pause of who is not let in, or not for long."""
STEADY_SECONDS: Final = 30.0
"""A link that lived so long was a good one."""
FORGIVEN_SECONDS: Final = 2 * TROUBLED_SECONDS
"""Trouble that is older has no effect any more."""


class Dialled(StrEnum):
    """What came of a dial."""

    LINKED = "linked"
    """A connection that was missing."""
    KNOWN = "known"
    """A replica to which nothing was missing."""
    FAILED = "failed"


class Stand(StrEnum):
    """How an agent stands to the replica that leads."""

    SETTLED = "a link to the leader stands"
    SEARCHING = "there is a leader, and no link to it"
    RENEWING = "a link to the leader stands, and one to it or to another is still of an earlier certificate"
    """It holds until that certificate expires, and where its replica cannot be met haste changes nothing."""
    LEADERLESS = "nobody leads, as far as was told"


@dataclass(slots=True)
class Pace:
    """The pauses of one address. All times are seconds on a monotonic clock."""

    known: int = 0
    """Dials in a row that came out at replicas to which nothing was missing."""
    troubles: int = 0
    """Failed dials and links that did not last, since there was none for a while."""
    troubled_at: float = 0.0

    def afresh(self) -> None:
        """What was refused to another identity says nothing of this one."""
        self.known = self.troubles = 0

    def dialled(self, outcome: Dialled, now: float) -> None:
        if outcome is Dialled.LINKED:
            self.known = 0
        elif outcome is Dialled.KNOWN:
            self.known += 1
        else:
            self._trouble(now)

    def link_ended(self, lived: float, now: float) -> None:
        """The short pause that follows keeps a hub that comes back from being met by all its agents at once."""
        self.known = 0
        if lived >= STEADY_SECONDS:
            self.troubles = 0
        self._trouble(now)

    def pause(self, stand: Stand, chance: float, now: float) -> float:
        """Seconds; ``chance`` between 0 and 1 keeps agents apart."""
        troubles = self.troubles if now - self.troubled_at < FORGIVEN_SECONDS else 0
        known = _grown(self.known, GROWTH, self._longest(stand))
        return max(known, _grown(troubles, 2.0, TROUBLED_SECONDS)) * (0.5 + chance)

    def _longest(self, stand: Stand) -> float:
        if stand is Stand.SETTLED:
            return SETTLED_SECONDS
        if stand is not Stand.LEADERLESS and self.known <= SEARCHING_DIALS:
            return SEARCHING_SECONDS
        return SETTLED_SECONDS if stand is Stand.RENEWING else LEADERLESS_SECONDS

    def _trouble(self, now: float) -> None:
        if now - self.troubled_at >= FORGIVEN_SECONDS:
            self.troubles = 0
        self.troubles += 1
        self.troubled_at = now


def _grown(times: int, factor: float, longest: float) -> float:
    return min(FIRST_PAUSE_SECONDS * factor ** min(times - 1, 32), longest) if times else 0.0

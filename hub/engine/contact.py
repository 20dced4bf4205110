"""Contact with one worker: when to try again, how long to wait, and what to say meanwhile (spec section 6)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Self

from worker_agent.api import timestamps

FIRST_BACKOFF: Final = timedelta(seconds=5)
LONGEST_BACKOFF_STEP: Final = 7
INTERRUPTION: Final = timedelta(seconds=10)
"""An API server that is started again is back within seconds. For so long after contact was lost it is tried again and
again without counting; that is the reconnect whose failure turns Active to False."""

_FIRST_RECONNECT: Final = timedelta(milliseconds=200)
_LONGEST_RECONNECT: Final = timedelta(seconds=2)
IN_PROGRESS_SECONDS: Final = 5.0
"""When to look again while another attempt for the same cluster is under way."""
_FIRST_PATIENCE: Final = timedelta(minutes=1)
_LONGEST_PATIENCE: Final = timedelta(minutes=10)


def backoff(failures: int) -> timedelta:
    """The pause after ``failures`` failed attempts in a row: 5 s, doubling to 320 s."""
    return FIRST_BACKOFF * (1 << (min(failures, LONGEST_BACKOFF_STEP) - 1))


def patience(failures: int) -> timedelta:
    """How long opening the watches may take: 1, 2, 4, 8, then 10 minutes."""
    return min(_FIRST_PATIENCE * (1 << min(failures, 10)), _LONGEST_PATIENCE)


@dataclass(frozen=True, slots=True)
class Contact:
    """What is remembered of one worker between attempts. A new one is out of contact since ``disconnected_since``."""

    disconnected_since: datetime | None
    failures: int = 0
    next_attempt: datetime | None = None
    reconnects: int | None = None
    """Attempts since contact was lost; None before contact was ever made with this configuration."""

    @property
    def connected(self) -> bool:
        return self.disconnected_since is None

    def lost(self, now: datetime) -> Self:
        """Out of contact from now on, if it was not already."""
        return self if not self.connected else replace(self, disconnected_since=now, reconnects=0)

    def with_new_configuration(self) -> Self:
        """A changed configuration is tried at once, whatever happened with the old one."""
        return replace(self, failures=0, next_attempt=None, reconnects=None)

    def failed(self, now: datetime) -> Self:
        """An attempt did not succeed. ``failures`` stays 0 while it may be a short interruption."""
        if self.reconnects is not None and now - (self.disconnected_since or now) < INTERRUPTION:
            pause = min(_FIRST_RECONNECT * (1 << min(self.reconnects, 10)), _LONGEST_RECONNECT)
            return replace(self, next_attempt=now + pause, reconnects=self.reconnects + 1)
        failures = self.failures + 1
        since = self.disconnected_since or now
        return replace(self, disconnected_since=since, failures=failures, next_attempt=now + backoff(failures))

    def made(self) -> Self:
        return replace(self, disconnected_since=None, failures=0, next_attempt=None, reconnects=None)

    def wait(self, now: datetime) -> timedelta:
        """How long until the next attempt is due; zero when it is."""
        return max(self.next_attempt - now, timedelta(0)) if self.next_attempt is not None else timedelta(0)

    def explained(self, message: str) -> str:
        """``message`` with the attempts so far and the time of the next one."""
        if not self.failures or self.next_attempt is None:
            return message if not self.failures else f"{message}; connection attempts: {self.failures}"
        due = timestamps.rfc3339(self.next_attempt)
        return f"{message}; connection attempts: {self.failures}, next connection attempt: {due}"

"""Timestamps as Kubernetes writes them: RFC 3339, whole seconds, UTC. Engines compare them as int microseconds."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
"""An absent time: year 1, as in Go. Objects without a creation time sort before all others."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z")


def parse(text: str) -> datetime:
    """The instant, in UTC, to the microsecond. Raises ValueError for anything but an RFC 3339 timestamp."""
    if not _RFC3339.match(text):
        raise ValueError(f"{text!r} is not an RFC 3339 timestamp such as 2026-01-31T12:00:00Z")
    return datetime.fromisoformat(text.upper()).astimezone(UTC)


def rfc3339(instant: datetime) -> str:
    """``2026-01-31T12:00:00Z``: parts of a second are cut off, as metav1.Time does."""
    return f"{instant.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat()}Z"


def rfc3339_micro(instant: datetime) -> str:
    """``2026-01-31T12:00:00.000000Z``, the MicroTime of Leases, Events and managed fields' kin."""
    return f"{instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def micros(instant: datetime | None) -> int:
    """Microseconds since 1970; None is year 1 and therefore negative."""
    return ((instant or ZERO) - _EPOCH) // _MICROSECOND


def from_micros(number: int) -> datetime:
    """The inverse of ``micros``."""
    return _EPOCH + timedelta(microseconds=number)

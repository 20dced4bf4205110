"""Durations as Go prints and parses them (``metav1.Duration``): ``1h30m``, ``500ms``, ``0s``."""

import re
from datetime import timedelta

_UNITS_MICROSECONDS = {
    "ns": 0.001,
    "us": 1.0,
    "µs": 1.0,
    "ms": 1_000.0,
    "s": 1_000_000.0,
    "m": 60_000_000.0,
    "h": 3_600_000_000.0,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
"""Go counts nanoseconds in 64 bits."""


def parse(text: str) -> timedelta:
    """The duration that ``text`` writes, to the microsecond. Raises ValueError saying what a duration looks like.

    Like Go it refuses what 64 bits of nanoseconds do not hold, about 292 years.
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return timedelta(0)
    microseconds, position = 0.0, 0
    for match in _PART.finditer(rest):
        if match.start() != position:
            break
        microseconds += float(match[1]) * _UNITS_MICROSECONDS[match[2]]
        position = match.end()
    if not rest or position != len(rest):
        raise ValueError(f"{text!r} is no duration; write a number with a unit, such as 30s, 5m or 1h30m")
    if microseconds > _LONGEST / timedelta(microseconds=1):
        raise ValueError(f"{text!r} is too long; a duration is at most 2562047h")
    return timedelta(microseconds=sign * microseconds)


def text(duration: timedelta) -> str:
    """Go's form of a duration, for example ``1h30m0s`` or ``500ms``."""
    microseconds = round(duration.total_seconds() * 1_000_000)
    sign, microseconds = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    if microseconds == 0:
        return "0s"
    if microseconds < 1_000:
        return f"{sign}{microseconds}µs"
    if microseconds < 1_000_000:
        return f"{sign}{microseconds / 1_000:g}ms"
    minutes, rest = divmod(microseconds, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1_000_000:.6f}".rstrip("0").rstrip(".")
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}s"
    return f"{sign}{minutes}m{seconds}s" if minutes else f"{sign}{seconds}s"

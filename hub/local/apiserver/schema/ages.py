"""Durations and timestamps as kubectl's columns show them: ``5s``, ``3m12s``, ``2d4h``."""

from datetime import datetime

from worker_agent.api import timestamps


def human(seconds: float) -> str:
    """A duration with two or three significant figures; ``<invalid>`` more than a second in the future."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 120:
        return f"{max(whole, 0)}s"
    minutes = whole // 60
    if minutes < 10:
        return _pair(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    return _days(hours)


def _days(hours: int) -> str:
    if hours < 192:
        return _pair(hours // 24, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{hours // 24}d"
    if hours < 24 * 365 * 8:
        return _pair(hours // 24 // 365, "y", hours // 24 % 365, "d")
    return f"{hours // 24 // 365}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def since(text: str | None, now: datetime) -> str:
    """How long ago a timestamp was; ``<unknown>`` without one, ``<invalid>`` for a text that is none."""
    if not text:
        return "<unknown>"
    try:
        return human((now - timestamps.parse(text)).total_seconds())
    except ValueError:
        return "<invalid>"

"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    """Something does not work, or will not."""
    WARNING = "warning"
    """Works, and is probably not meant to be so."""
    NOTE = "note"
    """Could not be looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``about`` is the object, as ``kind/name``; ``remedy`` what to do, where possible a command."""

    severity: Severity
    about: str
    problem: str
    remedy: str


def error(about: str, problem: str, remedy: str) -> Finding:
    return Finding(Severity.ERROR, about, problem, remedy)


def warning(about: str, problem: str, remedy: str) -> Finding:
    return Finding(Severity.WARNING, about, problem, remedy)


def note(about: str, problem: str, remedy: str) -> Finding:
    return Finding(Severity.NOTE, about, problem, remedy)

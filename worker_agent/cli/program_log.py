"""The log of a program on stderr: lines of JSON as Kueue writes them, or text, at a level that can be changed.

Options are those of Kueue (``--zap-...``). SIGUSR1 sends the level to debug and back while the program runs.
"""

import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from worker_agent import log_context

OURS: Final = ("worker_agent", "hub", "fedhub")
"""Loggers whose level is ours to set. Those of libraries stay at warnings: at debug they tell of headers."""

LEVELS: Final[Mapping[str, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "panic": logging.CRITICAL,
}
STACKTRACE_LEVELS: Final = ("info", "error", "panic")
ENCODERS: Final = ("json", "console")
FIRST_VERBOSE: Final = 4
"""Numbers from here on are debug: Kueue's manifests say 2, and details begin beyond 3."""


class LogOptionError(ValueError):
    """An option cannot be read; the text names it and says what is allowed."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """As on the command line; empty values take the default."""

    level: str = ""
    encoder: str = ""
    time_encoding: str = ""
    stacktrace_level: str = ""
    development: bool = False


def _epoch(at: datetime) -> Any:
    return at.timestamp()


TIMES: Final[Mapping[str, Callable[[datetime], Any]]] = {
    "epoch": _epoch,
    "millis": lambda at: at.timestamp() * 1e3,
    "nano": lambda at: int(at.timestamp()) * 10**9 + at.microsecond * 1000,
    "iso8601": lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
    "rfc3339": lambda at: f"{at:%Y-%m-%dT%H:%M:%SZ}",
    "rfc3339nano": lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}Z",
}


class ProgramLog:
    """Set up for the whole process."""

    def __init__(self, options: LogOptions) -> None:
        """Raises LogOptionError."""
        self.level = level(options)
        self._formatter = formatter(options)

    def start(self) -> None:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(self._formatter)
        logging.basicConfig(level=max(self.level, logging.WARNING), handlers=[handler])
        self._set(self.level)

    def toggle(self) -> None:
        """To debug, or back to the level of the start."""
        now = logging.getLogger(OURS[0]).level
        wanted = self.level if now == logging.DEBUG else logging.DEBUG
        self._set(wanted)
        logging.getLogger("fedhub").warning("the log's level is %s now", logging.getLevelName(wanted).lower())

    @staticmethod
    def _set(wanted: int) -> None:
        for name in OURS:
            logging.getLogger(name).setLevel(wanted)


def level(options: LogOptions) -> int:
    """Of the options, else of FEDHUB_LOG_LEVEL. Raises LogOptionError."""
    text = options.level or os.environ.get("FEDHUB_LOG_LEVEL", "") or ("debug" if options.development else "info")
    if text.isdecimal() and int(text) > 0:
        return logging.DEBUG if int(text) >= FIRST_VERBOSE else logging.INFO
    found = LEVELS.get(text.lower())
    if found is None:
        name = "--zap-log-level" if options.level else "environment FEDHUB_LOG_LEVEL"
        raise LogOptionError(f"{name}: {text!r}: must be one of {', '.join(LEVELS)}, or a number from 1 on")
    return found


def formatter(options: LogOptions) -> logging.Formatter:
    """Without a wish: JSON, but text where a person looks on. Raises LogOptionError."""
    watched = options.development or sys.stderr.isatty()
    encoder = _one_of("--zap-encoder", options.encoder or ("console" if watched else "json"), ENCODERS)
    time = TIMES[_one_of("--zap-time-encoding", options.time_encoding or "rfc3339nano", TIMES)]
    traced = LEVELS[_one_of("--zap-stacktrace-level", options.stacktrace_level or "panic", STACKTRACE_LEVELS)]
    made = JsonFormatter if encoder == "json" else TextFormatter
    return made(time, traced)


def _one_of(option: str, value: str, allowed: Any) -> str:
    if value not in allowed:
        raise LogOptionError(f"{option}: {value!r}: must be one of {', '.join(allowed)}")
    return value


class _Formatter(logging.Formatter):
    """``traced``: from this level on lines tell where in the program they came about."""

    def __init__(self, time: Callable[[datetime], Any], traced: int) -> None:
        super().__init__()
        self._time = time
        self._traced = traced

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        at = datetime.fromtimestamp(record.created, UTC)
        found: dict[str, Any] = {
            "level": record.levelname.lower(),
            "ts": self._time(at),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        around = {
            "object": getattr(record, "object", ""),
            "workload": log_context.WORKLOAD.get(),
            "cluster": log_context.CLUSTER.get(),
            "replica-role": log_context.ROLE.get()(),
        }
        found |= {name: value for name, value in around.items() if value}
        if record.exc_info:
            found["stacktrace"] = self.formatException(record.exc_info)
        elif record.levelno >= self._traced:
            found["stacktrace"] = "".join(traceback.format_stack()[:-STACK_OF_LOGGING])
        return found


STACK_OF_LOGGING: Final = 8
"""Frames between a line and here, which nobody wants to read."""


class JsonFormatter(_Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return msgspec.json.encode(self.fields(record)).decode()


class TextFormatter(_Formatter):
    """Time, level, logger and message; then what it is about, and below what went wrong."""

    def format(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        trace = fields.pop("stacktrace", "")
        head = f"{fields.pop('ts')} {fields.pop('level').upper()} {fields.pop('logger')} {fields.pop('msg')}"
        tail = " ".join(f"{name}={value}" for name, value in fields.items() if name != "replica-role")
        return "\n".join(part for part in (f"{head}  {tail}" if tail else head, trace.rstrip()) if part)

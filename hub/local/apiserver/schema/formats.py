"""String formats a CRD schema may name, each with its check. Unknown formats check nothing, as in the real server."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

TIMES_REMEMBERED: Final = 1024
"""The same few times stand in every write of an object."""
UUID_SHAPE: Final = "^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{0}-?{1}-?[0-9a-f]{{12}}$"
HEX4: Final = "[0-9a-f]{4}"
DATE_TIME: Final = re.compile(
    r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$", re.ASCII | re.IGNORECASE
)
DURATION: Final = re.compile(
    r"^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)([0-9.]+(ns|us|µs|μs|ms|s|m|h))*)$"
)
WORDED_DURATION: Final = re.compile(
    r"^((\d+)\s*(nanos?(econds?)?|micros?(econds?)?|millis?(econds?)?|seconds?|minutes?|hours?|days?|weeks?|"
    r"ns|us|µs|ms|s|m|h|d|w))+$"
)
HOSTNAME: Final = re.compile(
    r"^([a-zA-Z0-9\x80-\U0010ffff]([a-zA-Z0-9\x80-\U0010ffff-]{0,62}[a-zA-Z0-9\x80-\U0010ffff])?)"
    r"(\.[a-zA-Z0-9\x80-\U0010ffff]([a-zA-Z0-9\x80-\U0010ffff-]{0,62}[a-zA-Z0-9\x80-\U0010ffff])?)*$"
)
MAC: Final = r"^([0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{2}([:-][0-9a-f]{2}){7}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3})$"
SHORT_NAME: Final = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
LONG_NAME: Final = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")


def _pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.match(text) is not None


def _date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10


@lru_cache(TIMES_REMEMBERED)
def _date_time(text: str) -> bool:
    day, separator, clock = text.lower().partition("t")
    match = DATE_TIME.match(clock)
    if not separator or not _date(day) or match is None:
        return False
    return int(match[1]) <= 23 and int(match[2]) <= 59 and int(match[3]) <= 59


def _ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(text) and (text.startswith("/") or bool(parts.scheme)) and not re.search(r"[\x00-\x20\x7f]", text)


def _hostname(text: str) -> bool:
    return len(text) <= 255 and HOSTNAME.match(text) is not None


def _duration(text: str) -> bool:
    return DURATION.match(text) is not None or WORDED_DURATION.match(text) is not None


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _pattern("^[0-9a-fA-F]{24}$"),
    "uri": _uri,
    "email": _pattern(r"^(?:[^<>@]*<)?[^@\s<>]+@[^@\s<>]+>?$"),
    "hostname": _hostname,
    "ipv4": _ip(4),
    "ipv6": _ip(6),
    "cidr": _cidr,
    "mac": _pattern(MAC, re.IGNORECASE),
    "uuid": _pattern(UUID_SHAPE.format(HEX4, HEX4), re.IGNORECASE),
    "uuid3": _pattern(UUID_SHAPE.format("3[0-9a-f]{3}", HEX4), re.IGNORECASE),
    "uuid4": _pattern(UUID_SHAPE.format("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"), re.IGNORECASE),
    "uuid5": _pattern(UUID_SHAPE.format("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"), re.IGNORECASE),
    "isbn": _pattern(r"^(97[89][- ]?)?([0-9][- ]?){9}[0-9Xx]$"),
    "isbn10": _pattern(r"^([0-9][- ]?){9}[0-9Xx]$"),
    "isbn13": _pattern(r"^97[89][- ]?([0-9][- ]?){9}[0-9]$"),
    "creditcard": _pattern(r"^([0-9][- ]?){13,16}$"),
    "ssn": _pattern(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
    "hexcolor": _pattern(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": _pattern(r"^rgb\(\s*(\d{1,3}%?)\s*,\s*(\d{1,3}%?)\s*,\s*(\d{1,3}%?)\s*\)$"),
    "byte": _byte,
    "password": lambda _text: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": lambda text: len(text) <= 63 and SHORT_NAME.match(text) is not None,
    "k8slongname": lambda text: len(text) <= 253 and LONG_NAME.match(text) is not None,
}  # fmt: skip
INTEGER_RANGES: Final[dict[str, tuple[int, int]]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def check_of(schema: Any) -> Callable[[str], bool] | None:
    """The check for strings of this schema, None where its format says nothing about strings."""
    name = schema.get("format")
    if not name or schema.get("type") not in {None, "string"}:
        return None
    return CHECKS.get(name.replace("-", ""))

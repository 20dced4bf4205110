"""Kubernetes' CEL functions that the CEL library does not bring: strings, lists, quantities, versions, addresses, URLs.

The library hands over and takes back plain values only, so a quantity, a version, an IP, a CIDR or a URL travels
as a map with one private key. A method's receiver is the first argument.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from worker_agent.api import quantity

QUANTITY: Final = "__quantity__"
SEMVER: Final = "__semver__"
IP: Final = "__ip__"
CIDR: Final = "__cidr__"
URL: Final = "__url__"


VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


def _checks(function: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """The ``isX`` companion of a constructor: whether it accepts the text."""

    def check(text: Any) -> bool:
        try:
            function(text)
        except ValueError:
            return False
        return True

    return check


def as_quantity(text: str) -> dict[str, str]:
    """A quantity as its own kind of value. Raises quantity.QuantityError."""
    return _as_quantity(Fraction(quantity.parse(text)))


def _as_quantity(amount: Fraction) -> dict[str, str]:
    return {QUANTITY: str(amount)}


def _amount(value: Any) -> Fraction:
    return Fraction(value[QUANTITY]) if isinstance(value, Mapping) else Fraction(value)


def _compare(left: Any, right: Any) -> int:
    if isinstance(left, Mapping) and SEMVER in left:
        mine, other = _precedence(left), _precedence(right)
        return (mine > other) - (mine < other)
    first, second = _amount(left), _amount(right)
    return (first > second) - (first < second)


def semver(text: str) -> dict[str, str]:
    """A version as its own kind of value. Raises ValueError."""
    if VERSION.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no semantic version")
    return {SEMVER: text}


def _precedence(version: Mapping[str, str]) -> tuple[Any, ...]:
    """Orders versions as semver.org 11 does: a pre-release before its release, numbers before words."""
    match = VERSION.fullmatch(version[SEMVER])
    assert match is not None
    words = match[4].split(".") if match[4] else []
    before = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in words)
    return (int(match[1]), int(match[2]), int(match[3]), not words, before)


def _ip(text: str) -> dict[str, str]:
    if "%" in text:
        raise ValueError(f"IP address {text!r} has a zone")
    return {IP: str(ipaddress.ip_address(text))}


def _cidr(text: str) -> dict[str, str]:
    if "/" not in text:
        raise ValueError(f"CIDR {text!r} has no prefix length")
    return {CIDR: str(ipaddress.ip_interface(text))}


def _contains_ip(network: Mapping[str, str], address: Any) -> bool:
    text = address[IP] if isinstance(address, Mapping) else address
    return ipaddress.ip_address(text) in ipaddress.ip_interface(network[CIDR]).network


def _url(text: str) -> dict[str, str]:
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f"URL {text!r} is neither absolute nor a path")
    return {URL: text}


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        characters = list(text)
        return characters if limit < 0 else [*characters[: limit - 1], "".join(characters[limit - 1 :])]
    return text.split(separator) if limit < 0 else text.split(separator, limit - 1)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text[start:stop]


def _index_of(values: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(values, str):
        return values.find(wanted, start)
    return values.index(wanted) if wanted in values else -1


def _last_index_of(values: Any, wanted: Any) -> int:
    if isinstance(values, str):
        return values.rfind(wanted)
    return len(values) - 1 - values[::-1].index(wanted) if wanted in values else -1


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group(0) for match in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match.group(0) if match else ""


def _is_sorted(values: list[Any]) -> bool:
    return all(left <= right for left, right in pairwise(values))


def _format(template: str, values: list[Any]) -> str:
    remaining = iter(values)

    def text(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = next(remaining)
        if isinstance(value, bool):
            return "true" if value else "false"
        if match[0].endswith("f") and not isinstance(value, str):
            return f"{value:.6f}" if match[0] == "%f" else match[0] % value
        return str(value)

    return re.sub(r"%%|%(\.\d+)?[sdfxXboe]", text, template)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "charAt": lambda text, index: text[index] if index < len(text) else "",
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: "".join(c.lower() if c.isascii() else c for c in text),
    "upperAscii": lambda text: "".join(c.upper() if c.isascii() else c for c in text),
    "replace": _replace,
    "split": _split,
    "join": lambda values, separator="": separator.join(values),
    "substring": _substring,
    "trim": str.strip,
    "reverse": lambda values: values[::-1],
    "format": _format,
    "find": _find,
    "findAll": _find_all,
    "isSorted": _is_sorted,
    "sum": lambda values: sum(values) if values else 0,
    "min": min,
    "max": max,
    "quantity": as_quantity,
    "isQuantity": _checks(as_quantity),
    "isInteger": lambda value: _amount(value).denominator == 1 and abs(_amount(value)) < 2**63,
    "asInteger": lambda value: int(_amount(value)),
    "asApproximateFloat": lambda value: float(_amount(value)),
    "sign": lambda value: _compare(value, 0),
    "add": lambda left, right: _as_quantity(_amount(left) + _amount(right)),
    "sub": lambda left, right: _as_quantity(_amount(left) - _amount(right)),
    "compareTo": _compare,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "semver": semver,
    "isSemver": _checks(semver),
    "ip": _ip,
    "isIP": _checks(_ip),
    "cidr": _cidr,
    "isCIDR": _checks(_cidr),
    "containsIP": _contains_ip,
    "prefixLength": lambda value: ipaddress.ip_interface(value[CIDR]).network.prefixlen,
    "family": lambda value: ipaddress.ip_address(value[IP]).version,
    "isLoopback": lambda value: ipaddress.ip_address(value[IP]).is_loopback,
    "isUnspecified": lambda value: ipaddress.ip_address(value[IP]).is_unspecified,
    "url": _url,
    "isURL": _checks(_url),
    "getScheme": lambda value: urlsplit(value[URL]).scheme,
    "getHost": lambda value: urlsplit(value[URL]).netloc,
    "getHostname": lambda value: urlsplit(value[URL]).hostname or "",
    "getPort": lambda value: str(urlsplit(value[URL]).port or ""),
    "getEscapedPath": lambda value: urlsplit(value[URL]).path,
    "getQuery": lambda value: parse_qs(urlsplit(value[URL]).query),
    "sets_contains": lambda values, wanted: all(item in values for item in wanted),
    "sets_equivalent": lambda left, right: all(i in right for i in left) and all(i in left for i in right),
    "sets_intersects": lambda left, right: any(item in right for item in left),
    "math_greatest": lambda *values: max(values[0] if isinstance(values[0], list) else values),
    "math_least": lambda *values: min(values[0] if isinstance(values[0], list) else values),
}
NAMESPACED: Final = re.compile(r"\b(sets|math)\.(contains|equivalent|intersects|greatest|least)\(")


def without_namespaces(expression: str) -> str:
    """``sets.contains(`` as ``sets_contains(``: the library has no namespaces for functions of ours."""
    return NAMESPACED.sub(r"\1_\2(", expression)

"""Amounts of resources: plain ints, with one value that stands for "no bound" (spec/engine 6.6).

cpu is counted in milli-units, everything else in whole units. Quota trees add and subtract millions of these, so an
amount is an int and not a class; only ``plus``, ``minus`` and ``times`` know about Unlimited and int64.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.meta import Quantity

FlavorResource = tuple[str, str]
"""(flavor, resource): what quota is counted in."""

Amounts = dict[FlavorResource, int]
Requests = dict[str, int]
"""Resource name -> amount."""

_known: Final[dict[FlavorResource, FlavorResource]] = {}
_MOST_KNOWN: Final = 10_000


def flavor_resource(flavor: str, resource: str) -> FlavorResource:
    """The pair, equal ones being one object: a dict finds such a key without looking at its parts."""
    key = (flavor, resource)
    found = _known.get(key)
    if found is None:
        if len(_known) == _MOST_KNOWN:
            _known.clear()
        found = _known[key] = key
    return found


PODS: Final = "pods"
"""The implicit resource: each pod set asks for as many as it has pods where a queue covers it (spec/engine 3.4)."""

_MAX: Final = 2**63 - 1
_MIN: Final = -(2**63)

UNLIMITED: Final = 2**63
"""Greater than every finite amount, equal to itself, absorbing for addition."""


def plus(a: int, b: int) -> int:
    if a == UNLIMITED or b == UNLIMITED:  # noqa: PLR1714
        return UNLIMITED
    total = a + b
    return total if _MIN <= total <= _MAX else _clamped(total)


def minus(a: int, b: int) -> int:
    """Unlimited less something finite stays Unlimited; something finite less Unlimited is the least int64."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    if b == UNLIMITED:
        return _MIN
    rest = a - b
    return rest if _MIN <= rest <= _MAX else _clamped(rest)


def times(amount: int, count: int) -> int:
    """What ``count`` pods ask for. It stays within int64, so that it can be written as a quantity and read again."""
    total = amount * count
    return total if _MIN <= total <= _MAX else _clamped(total)


def _clamped(number: int) -> int:
    return _MAX if number > 0 else _MIN


def quota_amount(resource: str, amount: Quantity) -> int:
    """The amount of a quota. One beyond int64 (in the resource's unit) means that there is no bound."""
    number = quantity.value(resource, amount)
    return UNLIMITED if number == _MAX else number


def parse(requests: Mapping[str, Quantity] | None) -> Requests:
    """Quantities of a manifest as amounts, rounded up. Raises quantity.QuantityError."""
    return {name: quantity.value(name, amount) for name, amount in (requests or {}).items()}


def text(resource: str, amount: int) -> str:
    """The amount as Kubernetes prints it: ``1500m`` cpu, ``2Gi`` memory, ``<unlimited>``."""
    return "<unlimited>" if amount == UNLIMITED else _printed(resource, amount)


def documents(requests: Mapping[str, int]) -> dict[str, str]:
    return {name: _printed(name, amount) for name, amount in requests.items()}


_printed = lru_cache(maxsize=4096)(quantity.format_value)


def total(vectors: Iterable[Mapping[str, int]]) -> Requests:
    """The sum of request vectors, by name."""
    result: Requests = {}
    for vector in vectors:
        for name, amount in vector.items():
            result[name] = plus(result.get(name, 0), amount)
    return result


_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_scan_keys: dict[str, tuple[int, str]] = {}


def scan_key(resource: str) -> tuple[int, str]:
    """Order in which the resources of a pod set are given flavors: by 64-bit FNV-1a of the name (spec/engine 8.1).

    The order decides which failing scan is reported, so it is the reference's own.
    """
    key = _scan_keys.get(resource)
    if key is None:
        digest = _FNV_OFFSET
        for byte in resource.encode():
            digest = ((digest ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
        key = _scan_keys[resource] = (digest, resource)
    return key

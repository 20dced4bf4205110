"""Kubernetes quantities ("500m", "2Gi", 3): exact arithmetic at the border, plain integers inside.

Every quantity is a whole number of nanos (smaller parts are rounded away from zero, as apimachinery does), so one
Python int holds any of them exactly. The engine counts cpu in milli-units and everything else in whole units.
Source: k8s.io/apimachinery/pkg/api/resource.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from worker_agent.api.meta import Quantity

Form = Literal["DecimalSI", "BinarySI", "DecimalExponent"]
"""How a quantity was written; it decides how it is printed."""

MAX_INT64: Final = 2**63 - 1
CPU: Final = "cpu"

_NANO: Final = 10**9
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {power: suffix for suffix, power in _BINARY.items()}
_FACTOR: Final = {suffix: 10 ** (power + 9) for suffix, power in _DECIMAL.items()} | {
    suffix: _NANO << power for suffix, power in _BINARY.items()
}
# What almost every manifest writes: digits and a suffix, short enough to stay below the cap of int64.
_COMMON: Final = re.compile(r"([0-9]{1,12})(m|k|Ki|M|Mi)?\Z")
_COMMON_GIGA: Final = re.compile(r"([0-9]{1,9})(G|Gi)\Z")
_GENERAL: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)\Z")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)\Z")
_BINARY_PREFIXED: Final = ("memory", "ephemeral-storage")
_EXPONENT_BOUND: Final = 400  # 10**400 is far beyond the cap on either side; keeps the power computable


class QuantityError(ValueError):
    """The text is no quantity. Its message is the one Kubernetes prints."""


_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"


def parse(quantity: Quantity) -> Fraction:
    """The exact value. Raises QuantityError."""
    return Fraction(nanos(quantity), _NANO)


def nanos(quantity: Quantity) -> int:
    """The exact value in billionths, the smallest part a quantity can hold. Raises QuantityError."""
    return _read(quantity)[0]


def milli(quantity: Quantity) -> int:
    """Thousandths, rounded away from zero and clamped to int64. Raises QuantityError."""
    return _scaled(quantity, 10**6)


def units(quantity: Quantity) -> int:
    """Whole units, rounded away from zero and clamped to int64. Raises QuantityError."""
    return _scaled(quantity, _NANO)


def value(resource: str, quantity: Quantity) -> int:
    """The engine's integer for this resource: milli-units of cpu, whole units of the rest. Raises QuantityError."""
    return _scaled(quantity, 10**6 if resource == CPU else _NANO)


def compare(left: Quantity, right: Quantity) -> int:
    """Negative, zero or positive, as left is less than, equal to or greater than right. Raises QuantityError."""
    return nanos(left) - nanos(right)


def format_value(resource: str, number: int) -> str:
    """Print an engine integer as Kubernetes prints that resource: "1500m" cpu, "2Gi" memory, "3" of anything else."""
    if resource == CPU:
        return _print(number * 10**6, "DecimalSI")
    binary = resource in _BINARY_PREFIXED or resource.startswith("hugepages-")
    return _print(number * _NANO, "BinarySI" if binary else "DecimalSI")


def canonical(quantity: Quantity) -> str:
    """The one way apimachinery prints this value: no fraction, the largest suffix that keeps it whole."""
    return _print(*_read(quantity))


def _scaled(quantity: Quantity, divisor: int) -> int:
    amount = _read(quantity)[0]
    scaled = -(-amount // divisor) if amount >= 0 else amount // divisor
    return max(-MAX_INT64 - 1, min(MAX_INT64, scaled))


def _read(quantity: Quantity) -> tuple[int, Form]:
    if isinstance(quantity, str):
        return _read_text(quantity)
    if isinstance(quantity, bool) or quantity is None:
        raise QuantityError(_FORMAT_WRONG)
    if isinstance(quantity, int):
        return _cap(quantity * _NANO), "DecimalSI"
    return _read_text(repr(quantity))


@lru_cache(maxsize=1 << 16)
def _read_text(text: str) -> tuple[int, Form]:
    common = _COMMON.match(text) or _COMMON_GIGA.match(text)
    if common is None:
        return _read_general(text.strip())
    suffix = common[2] or ""
    return int(common[1]) * _FACTOR[suffix], "BinarySI" if suffix in _BINARY else "DecimalSI"


def _read_general(text: str) -> tuple[int, Form]:
    found = _GENERAL.match(text)
    if found is None or not text:
        raise QuantityError(_FORMAT_WRONG)
    sign, whole, fraction, suffix = found[1], found[2], found[3] or "", found[4]
    digits = int(whole + fraction or "0")
    form, base, power = _suffix(suffix)
    amount = _times_power(digits, len(fraction), base, power)
    return _cap(-amount if sign == "-" else amount), form


def _suffix(suffix: str) -> tuple[Form, int, int]:
    if suffix in _DECIMAL:
        return "DecimalSI", 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return "BinarySI", 2, _BINARY[suffix]
    exponent = _EXPONENT.match(suffix)
    if exponent is None:
        raise QuantityError(_SUFFIX_WRONG)
    return "DecimalExponent", 10, int(exponent[1])


def _times_power(digits: int, decimals: int, base: int, power: int) -> int:
    """Nanos of ``digits * 10**-decimals * base**power``, a rest rounded up."""
    if base == 2:
        return -(-((digits << power) * _NANO) // _ten_to(decimals))
    shift = power - decimals + 9
    if shift >= 0:
        return digits * _ten_to(min(shift, _EXPONENT_BOUND))
    if not digits or -shift > _EXPONENT_BOUND + decimals:
        return min(digits, 1)
    return -(-digits // _ten_to(-shift))


def _ten_to(power: int) -> int:
    result: int = 10**power
    return result


def _cap(amount: int) -> int:
    """Kubernetes caps values at the int64 range; keep the same bound so that equal inputs compare equal."""
    bound = MAX_INT64 * _NANO
    return max(-bound, min(bound, amount))


def _print(amount: int, form: Form) -> str:
    if amount == 0:
        return "0"
    if form == "BinarySI" and abs(amount) >= 1024 * _NANO and amount % _NANO == 0:
        whole, power = _without_factors(amount // _NANO, 1024, 6)
        return f"{whole}{_BINARY_SUFFIX[power * 10] if power else ''}"
    number, power = _without_factors(amount, 1000, 9)
    power = power * 3 - 9
    if form == "DecimalExponent":
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL_SUFFIX[power]}"


def _without_factors(number: int, factor: int, most: int) -> tuple[int, int]:
    power = 0
    while power < most and number % factor == 0:
        number //= factor
        power += 1
    return number, power

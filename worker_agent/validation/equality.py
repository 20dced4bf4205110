"""When two parts of a document mean the same: absent and empty alike, quantities by value."""

from typing import Any, Final

from worker_agent.api import quantity

_QUANTITY_MAPS: Final = frozenset({"requests", "limits", "overhead", "resourceUsage", "capacity"})


def same(left: Any, right: Any, field: str = "") -> bool:
    """Semantic equality as apimachinery's: what a user did not change is unchanged, however it is written."""
    if _empty(left) and _empty(right):
        return True
    if isinstance(left, dict | None) and isinstance(right, dict | None):
        return _same_maps(left or {}, right or {}, field)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def _same_maps(left: dict[str, Any], right: dict[str, Any], field: str) -> bool:
    if field in _QUANTITY_MAPS:
        return left.keys() == right.keys() and all(_same_quantity(left[key], right[key]) for key in left)
    return all(same(left.get(key), right.get(key), key) for key in {*left, *right})


def _same_quantity(left: Any, right: Any) -> bool:
    try:
        return quantity.nanos(left) == quantity.nanos(right)
    except quantity.QuantityError:
        return bool(left == right)


def _empty(value: Any) -> bool:
    return value is None or value in ({}, [])

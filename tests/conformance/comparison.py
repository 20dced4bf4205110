"""The equality all areas share (conformance/README, "Comparison defaults").

``null``, absent, ``{}`` and ``[]`` are equal; conditions are a set keyed by type; quantities and times are equal by
value; some fields are never compared.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from worker_agent.api import quantity, timestamps

IGNORED = frozenset({"resourceVersion", "managedFields"})
"""Fields that no area compares."""


def differences(
    expected: Any,
    actual: Any,
    *,
    ignore: Collection[str] = (),
    keyed: Mapping[str, str] | None = None,
    zeros_absent: bool = False,
) -> list[str]:
    """One line per place where the two differ, as ``path: expected X, got Y``.

    ``ignore`` names fields (or ``parent.field``) left out at any depth; ``keyed`` says which lists are sets, by the
    field that identifies an element (``{"podSets": "name"}``; "" compares a list of plain values as a set);
    ``zeros_absent`` makes 0, false and "" equal to absent.
    """
    rules = _Rules(frozenset(ignore) | IGNORED, {"conditions": "type", **(keyed or {})}, zeros_absent)
    return list(rules.compare("", "", expected, actual))


def multiset(expected: Iterable[Any], actual: Iterable[Any], what: str) -> list[str]:
    """Differences of two collections whose order is free; elements may be any JSON."""
    wanted, found = _counted(expected), _counted(actual)
    missing = [f"missing {what}: {item}" for item in (wanted - found).elements()]
    return missing + [f"unexpected {what}: {item}" for item in (found - wanted).elements()]


def by_key(objects: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Objects under ``Kind ns/name``, to compare two worlds with ``differences``."""
    return {f"{o.get('kind', '')} {_key(o.get('metadata') or {})}": o for o in objects}


def same_value(expected: Any, actual: Any) -> bool:
    """Equal as JSON scalars, as quantities, or as instants."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if expected == actual:
        return True
    return _both(_as_quantity, expected, actual) or _both(_as_instant, expected, actual)


class _Rules:
    def __init__(self, ignore: frozenset[str], keyed: Mapping[str, str], zeros_absent: bool) -> None:
        self._ignore, self._keyed, self._zeros_absent = ignore, keyed, zeros_absent

    def compare(self, path: str, field: str, expected: Any, actual: Any) -> Iterable[str]:
        if self._absent(expected) and self._absent(actual):
            return
        if isinstance(expected, Mapping | None) and isinstance(actual, Mapping | None):
            yield from self._mappings(path, field, expected or {}, actual or {})
        elif isinstance(expected, list | tuple | None) and isinstance(actual, list | tuple | None):
            yield from self._lists(path, field, expected or [], actual or [])
        elif not same_value(expected, actual):
            yield f"{path or '.'}: expected {_show(expected)}, got {_show(actual)}"

    def _mappings(self, path: str, field: str, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterable[str]:
        for name in sorted({*expected, *actual}):
            if name in self._ignore or f"{field}.{name}" in self._ignore:
                continue
            inside = f"{path}.{name}" if path else name
            yield from self.compare(inside, name, expected.get(name), actual.get(name))

    def _lists(self, path: str, field: str, expected: Any, actual: Any) -> Iterable[str]:
        key = self._keyed.get(field)
        if key == "":
            yield from (f"{path}: {line}" for line in multiset(expected, actual, "element"))
        elif key is not None:
            wanted, found = ({item.get(key): item for item in items} for items in (expected, actual))
            for name in sorted({*wanted, *found}, key=str):
                yield from self.compare(f"{path}[{name}]", "", wanted.get(name), found.get(name))
        elif len(expected) != len(actual):
            yield f"{path or '.'}: expected {_show(expected)}, got {_show(actual)} (lengths differ)"
        else:
            for index, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
                yield from self.compare(f"{path}[{index}]", "", wanted, found)

    def _absent(self, value: Any) -> bool:
        if isinstance(value, Mapping):
            return all(self._absent(item) for name, item in value.items() if name not in self._ignore)
        if value is None or (isinstance(value, list | tuple) and not value):
            return True
        return self._zeros_absent and value in (0, False, "")


def _both(read: Any, expected: Any, actual: Any) -> bool:
    left, right = read(expected), read(actual)
    return left is not None and left == right


def _as_quantity(value: Any) -> int | None:
    if not isinstance(value, str | int | float) or not str(value).lstrip("+-.")[:1].isdigit():
        return None
    try:
        return quantity.nanos(value)
    except quantity.QuantityError:
        return None


def _as_instant(value: Any) -> int | None:
    try:
        return timestamps.micros(timestamps.parse(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _counted(items: Iterable[Any]) -> Counter[str]:
    return Counter(_show(item) for item in items)


def _show(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _key(metadata: Mapping[str, Any]) -> str:
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"

"""Devices charged not by their number but by what they take of a counter (partitions) or offer of a capacity."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from worker_agent.api import quantity
from worker_agent.api.document import Document, get
from worker_agent.engine.devices import selectors
from worker_agent.engine.devices.claims import DeviceRequest, class_selectors
from worker_agent.engine.devices.inventory import Device, DeviceInventory
from worker_agent.engine.devices.mappings import Source
from worker_agent.engine.devices.problem import internal, invalid
from worker_agent.engine.devices.selectors import SelectorError

Charge = Callable[[Source, Sequence[Device], DeviceRequest, str], int]


def by_counter(source: Source, devices: Sequence[Device], request: DeviceRequest, at: str) -> int:
    """The most that any device that may be bound takes of the counter, for each device asked for."""
    amounts = [
        _units(counters[source.name].get("value", "0"))
        for device in devices
        for consumed in device.document.get("consumesCounters") or ()
        if source.name in (counters := consumed.get("counters") or {})
    ]
    if not amounts:
        raise internal(at, f'matched devices have no consumesCounters entry for counter "{source.name}"')
    return max(amounts) * request.count


def by_capacity(source: Source, devices: Sequence[Device], request: DeviceRequest, at: str) -> int:
    """The most that any device that may be bound would hand out, for each device asked for."""
    asked = get(dict(request.exactly), "capacity.requests", {}) or {}
    offers = [d.document["capacity"][source.name] for d in devices if source.name in (d.document.get("capacity") or {})]
    if not offers:
        raise internal(at, f'matched devices have no capacity dimension "{source.name}"')
    amounts = [amount for offer in offers if (amount := _handed_out(offer, asked.get(source.name))) is not None]
    if not amounts:
        detail = (
            f'capacity request cannot be satisfied by any matched device\'s RequestPolicy for dimension "{source.name}"'
        )
        raise invalid(at, detail)
    return max(amounts) * request.count


def charge(
    source: Source, request: DeviceRequest, inventory: DeviceInventory, at: str, measure: Charge, what: str
) -> int:
    """Units of the quota resource that one pod's request takes by ``source``. Raises DeviceProblem."""
    if inventory.unreadable:
        raise internal(at, f"failed to list ResourceSlices: {inventory.unreadable}")
    devices = _matching(source, request, inventory, at)
    if len(devices) < request.count:
        detail = (
            f"insufficient matching devices for {what} driver: "
            f"{len(devices)} device(s) match but {request.count} requested"
        )
        raise internal(at, detail)
    return min(measure(source, devices, request, at), quantity.MAX_INT64)


def _matching(source: Source, request: DeviceRequest, inventory: DeviceInventory, at: str) -> list[Device]:
    wanted = [selectors.compiled(source.selector)] if source.selector else []
    wanted += class_selectors(request.device_class, inventory, at)
    wanted += [selectors.compiled(text) for text in selectors.expressions(request.exactly.get("selectors"))]
    found = []
    for device in inventory.complete_devices(source.driver):
        try:
            if all(selector.matches(device) for selector in wanted):
                found.append(device)
        except SelectorError as error:
            raise internal(at, f"CEL evaluation error for device {device.name}: {error}") from None
    return found


def _units(value: Any) -> int:
    return max(0, quantity.units(str(value)))


def _handed_out(offer: Document, asked: Any) -> int | None:
    """What the device's policy makes of a request; None where it refuses. Without one, all of it or its default."""
    policy = offer.get("requestPolicy") or {}
    base = asked if asked is not None else policy.get("default", offer.get("value", "0"))
    amount = Fraction(quantity.parse(str(base)))
    if policy.get("validValues"):
        enough = [v for v in policy["validValues"] if Fraction(quantity.parse(str(v))) >= amount]
        return _units(enough[0]) if enough else None
    if policy.get("validRange"):
        return _in_range(_units(base), policy["validRange"])
    return _units(base)


def _in_range(amount: int, limits: Document) -> int | None:
    low, high, step = (None if limits.get(n) is None else _units(limits[n]) for n in ("min", "max", "step"))
    amount = max(amount, low or 0)
    if step and low is not None:
        amount = low + -(-(amount - low) // step) * step
    return None if high is not None and amount > high else amount

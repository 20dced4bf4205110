"""Claims counted by the number of their devices, and whether the cluster has devices that match their selectors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worker_agent.api.document import Document, get
from worker_agent.engine.devices import selectors
from worker_agent.engine.devices.inventory import Device, DeviceInventory
from worker_agent.engine.devices.mappings import DeviceRules
from worker_agent.engine.devices.problem import DeviceProblem, FieldProblem, internal, invalid
from worker_agent.engine.devices.selectors import Selector, SelectorError


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """So many devices of a class, with what else the request says about them."""

    index: int
    device_class: str
    count: int
    exactly: Mapping[str, Any]


def requests_of(claim: Document, path: str) -> Iterator[DeviceRequest]:
    """The requests that count, in order; those for administrators' access do not. Raises DeviceProblem."""
    for index, request in enumerate(get(claim, "devices.requests", []) or ()):
        at = f"{path}.devices.requests[{index}]"
        if request.get("firstAvailable") is not None:
            raise invalid(at, "FirstAvailable device selection is not supported")
        exactly = request.get("exactly")
        if exactly is None:
            raise invalid(at, "Exactly must be set if FirstAvailable is nil")
        _check_selectors(exactly, f"{at}.exactly.selectors")
        if exactly.get("adminAccess"):
            continue
        mode = exactly.get("allocationMode") or "ExactCount"
        if mode == "All":
            raise invalid(f"{at}.exactly.allocationMode", "AllocationMode 'All' is not supported", '"All"')
        if mode != "ExactCount":
            raise invalid(f"{at}.exactly.allocationMode", f"unsupported allocation mode: {mode}", f'"{mode}"')
        if exactly.get("deviceClassName"):
            yield DeviceRequest(index, exactly["deviceClassName"], int(exactly.get("count") or 1), exactly)


def _check_selectors(exactly: Mapping[str, Any], path: str) -> None:
    errors = []
    for index, selector in enumerate(exactly.get("selectors") or ()):
        try:
            if selector.get("cel"):
                selectors.compiled(selector["cel"]["expression"])
        except SelectorError as error:
            expression = selector["cel"]["expression"]
            problem = invalid(f"{path}[{index}].cel.expression", f"CEL compilation failed: {error}", f'"{expression}"')
            errors.append(str(problem))
    if errors:
        raise invalid(path, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def check_against_devices(
    claim: Document, requests: Sequence[DeviceRequest], inventory: DeviceInventory, rules: DeviceRules, path: str
) -> None:
    """Requests with selectors must find their devices, each device once: quota is not for what can never be bound.

    Raises DeviceProblem; a shortage may pass when drivers publish more.
    """
    selective = [request for request in requests if selectors.expressions(request.exactly.get("selectors"))]
    if not selective:
        return
    if inventory.unreadable:
        raise internal(path, f"failed to list ResourceSlices: {inventory.unreadable}")
    devices = list(_candidates(selective, inventory, rules))
    taken: set[int] = set()
    problems: list[FieldProblem] = []
    for request in selective:
        try:
            _take(request, devices, taken, inventory, f"{path}.devices.requests[{request.index}]")
        except DeviceProblem as problem:
            problems += problem.problems
    if problems:
        raise DeviceProblem(problems)


def _candidates(requests: Sequence[DeviceRequest], inventory: DeviceInventory, rules: DeviceRules) -> Iterable[Device]:
    """Of all drivers, unless every class names the drivers whose devices it measures."""
    drivers: dict[str, None] = {}
    for request in requests:
        mapping = rules.classes.get(request.device_class)
        if mapping is None or not mapping.sources:
            return inventory.devices()
        drivers |= dict.fromkeys(source.driver for source in mapping.sources)
    return (device for driver in drivers for device in inventory.devices(driver))


def _take(
    request: DeviceRequest, devices: Sequence[Device], taken: set[int], inventory: DeviceInventory, at: str
) -> None:
    wanted = class_selectors(request.device_class, inventory, at)
    wanted += [selectors.compiled(text) for text in selectors.expressions(request.exactly.get("selectors"))]
    found = 0
    try:
        for index, device in enumerate(devices):
            if found == request.count:
                break
            if index not in taken and all(selector.matches(device) for selector in wanted):
                taken.add(index)
                found += 1
    except SelectorError as error:
        detail = f"CEL evaluation failed for DeviceClass {request.device_class}: {error}"
        raise invalid(f"{at}.exactly.selectors", detail) from None
    if found < request.count:
        detail = (
            f"insufficient matching devices for CEL selector in DeviceClass {request.device_class}: "
            f"{found} device(s) match in the cluster but {request.count} requested"
        )
        raise internal(f"{at}.exactly.selectors", detail)


def class_selectors(name: str, inventory: DeviceInventory, at: str) -> list[Selector]:
    """Raises DeviceProblem."""
    found = inventory.class_spec(name)
    if found is None:
        detail = f'failed to get DeviceClass {name}: deviceclasses.resource.k8s.io "{name}" not found'
        raise internal(at, detail)
    compiled = []
    for index, expression in enumerate(selectors.expressions(found.get("selectors"))):
        try:
            compiled.append(selectors.compiled(expression))
        except SelectorError as error:
            detail = f"DeviceClass {name} has invalid CEL selector: {error}"
            raise invalid(f"{at}[{index}].cel.expression", detail, f'"{expression}"') from None
    return compiled

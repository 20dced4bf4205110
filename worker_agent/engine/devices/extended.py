"""Container requests for an extended resource that a DeviceClass serves: they count as that class's quota resource."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from worker_agent.api import quantity
from worker_agent.api.pod import Container, PodSpec
from worker_agent.engine.devices.inventory import DeviceInventory
from worker_agent.engine.devices.mappings import DeviceRules
from worker_agent.engine.devices.problem import INVALID, DeviceProblem, FieldProblem

_NANO = 10**9


class Asked(NamedTuple):
    """Extended resources of one container: path of the container, amount as written by name."""

    path: str
    amounts: Mapping[str, str]


def is_extended(resource: str) -> bool:
    """A name with a domain that is not Kubernetes' own (hugepages and the like have none)."""
    domain, _, name = resource.rpartition("/")
    return bool(domain and name) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def asked_for(spec: PodSpec) -> tuple[str, ...]:
    """The extended resources that any container of the pod asks for."""
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    return tuple(dict.fromkeys(name for asked in _asked(containers, "") for name in asked.amounts))


def resolve(
    spec: PodSpec, inventory: DeviceInventory, rules: DeviceRules, path: str
) -> tuple[dict[str, int], set[str]]:
    """Devices per quota resource that one pod asks for, and the extended resources they replace.

    Init containers run one after the other, the others together. Raises DeviceProblem.
    """
    starting = _asked(spec.init_containers or (), f"{path}.initContainers")
    running = _asked(spec.containers or (), f"{path}.containers")
    totals: dict[str, int] = {}
    replaced: set[str] = set()
    problems: list[FieldProblem] = []
    for name in dict.fromkeys(name for asked in (*starting, *running) for name in asked.amounts):
        device_class = inventory.serving(name)
        if not device_class:
            continue
        mine = [asked for asked in (*starting, *running) if name in asked.amounts]
        found = _problems(name, device_class, mine, rules)
        if found:
            problems += found
            continue
        at_start = max((_whole(asked.amounts[name]) for asked in starting if name in asked.amounts), default=0)
        at_run = sum(_whole(asked.amounts[name]) for asked in running if name in asked.amounts)
        mapping = rules.classes.get(device_class)
        resource = name if mapping is None else mapping.resource
        totals[resource] = totals.get(resource, 0) + max(at_start, at_run)
        replaced.add(name)
    if problems:
        raise DeviceProblem(problems)
    return totals, replaced


def _problems(name: str, device_class: str, mine: list[Asked], rules: DeviceRules) -> list[FieldProblem]:
    if rules.counters_of(device_class):
        how = "counters configured; use ResourceClaimTemplates with CEL selectors for counter-based quota"
    elif rules.capacities_of(device_class):
        how = "capacity sources configured; use ResourceClaimTemplates with capacity.requests for capacity-based quota"
    else:
        detail = "extended resource quantity must be an integer"
        return [
            FieldProblem(f"{asked.path}.resources.requests.{name}", INVALID, f'"{asked.amounts[name]}"', detail)
            for asked in mine
            if quantity.nanos(asked.amounts[name]) % _NANO
        ]
    detail = f"extended resource {name} resolves to DeviceClass {device_class} with {how}"
    return [FieldProblem(mine[0].path, INVALID, f'"{name}"', detail)]


def _asked(containers: Iterable[Container], path: str) -> list[Asked]:
    found = []
    for index, container in enumerate(containers):
        requests = (container.resources.requests if container.resources else None) or {}
        amounts = {n: str(v) for n, v in requests.items() if is_extended(n) and quantity.nanos(v)}
        if amounts:
            found.append(Asked(f"{path}[{index}]", amounts))
    return found


def _whole(amount: str) -> int:
    return quantity.nanos(amount) // _NANO

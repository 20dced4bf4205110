"""What one pod of a template asks for: Kubernetes' effective request, exactly (spec/engine 3.1).

Amounts are ints in nanos until the very end, where each is rounded up per pod. Nothing here changes the template: the
containers' requests are copied out, adjusted (runtime class overhead, LimitRange defaults, limits become requests) and
summed up.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.meta import Quantity
from worker_agent.api.pod import Container, PodSpec, ResourceRequirements
from worker_agent.engine.resources import Requests
from worker_agent.engine.transformations import Transformation, transform

Nanos = dict[str, int]

_NANO: Final = 10**9
_POD_LEVEL: Final = ("cpu", "memory")


class ContainerRequests:
    """One (init) container, or the pod-level stanza: requests and limits in nanos."""

    __slots__ = ("limits", "requests", "sidecar")

    def __init__(self, resources: ResourceRequirements | None, sidecar: bool = False) -> None:
        self.requests = _nanos(resources.requests if resources else None)
        self.limits = _nanos(resources.limits if resources else None)
        self.sidecar = sidecar

    def limits_become_requests(self) -> None:
        for name, amount in self.limits.items():
            self.requests.setdefault(name, amount)


class PodRequests:
    """The requests of one pod, open to adjustment before ``effective`` sums them up."""

    __slots__ = ("containers", "init_containers", "overhead", "pod_level")

    def __init__(self, spec: PodSpec) -> None:
        self.containers = [_container(container) for container in spec.containers or ()]
        self.init_containers = [_container(container) for container in spec.init_containers or ()]
        self.pod_level = ContainerRequests(spec.resources) if spec.resources is not None else None
        self.overhead = _nanos(spec.overhead)

    def limits_become_requests(self) -> None:
        for container in (*self.containers, *self.init_containers):
            container.limits_become_requests()
        if self.pod_level is not None:
            self.pod_level.limits_become_requests()

    def effective(self) -> Nanos:
        """Per resource max(containers + sidecars, each init container with the sidecars before it), plus overhead."""
        running: Nanos = {}
        for container in self.containers:
            _add(running, container.requests)
        sidecars: Nanos = {}
        starting: Nanos = {}
        for container in self.init_containers:
            if container.sidecar:
                _add(sidecars, container.requests)
                _raise(starting, sidecars)
            else:
                at_once = dict(sidecars)
                _add(at_once, container.requests)
                _raise(starting, at_once)
        _add(running, sidecars)
        _raise(running, starting)
        if self.pod_level is not None:
            running |= {name: n for name, n in self.pod_level.requests.items() if _counts_for_pod(name)}
        _add(running, self.overhead)
        return running


def _container(container: Container) -> ContainerRequests:
    return ContainerRequests(container.resources, sidecar=container.restart_policy == "Always")


def _nanos(quantities: Mapping[str, Quantity] | None) -> Nanos:
    return {name: quantity.nanos(amount) for name, amount in (quantities or {}).items()}


def _counts_for_pod(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith("hugepages-")


def _add(total: Nanos, more: Nanos) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Nanos, floor: Nanos) -> None:
    for name, amount in floor.items():
        if amount > total.get(name, 0):
            total[name] = amount
        else:
            total.setdefault(name, 0)


def rounded(
    effective: Nanos, excluded_prefixes: Sequence[str] = (), rules: Mapping[str, Transformation] | None = None
) -> Requests:
    """The pod's request vector in the engine's integers, after exclusions and transformations, rounded up per pod."""
    if excluded_prefixes:
        prefixes = tuple(excluded_prefixes)
        effective = {name: amount for name, amount in effective.items() if not name.startswith(prefixes)}
    if rules and any(name in rules for name in effective):
        exact = transform({name: Fraction(amount, _NANO) for name, amount in effective.items()}, rules)
        return {name: _ceiling(name, amount * _NANO) for name, amount in exact.items()}
    return {name: _ceiling(name, amount) for name, amount in effective.items()}


def _ceiling(resource: str, nanos: int | Fraction) -> int:
    unit = 10**6 if resource == quantity.CPU else _NANO
    return min(max(0, int(-(-nanos // unit))), quantity.MAX_INT64)

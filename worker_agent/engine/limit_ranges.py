"""LimitRanges of one namespace, summed up; what they and limits demand of pods (spec/engine 3.1-3.2)."""

from collections.abc import Iterable, Iterator
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.meta import Quantity
from worker_agent.api.pod import LimitRange, LimitRangeItem
from worker_agent.engine.pod_requests import ContainerRequests, Nanos, PodRequests

ABOVE_LIMIT: Final = "requests must not exceed its limits"
ABOVE_MAX: Final = "requests must not be above the limitRange max"
BELOW_MIN: Final = "requests must not be below the limitRange min"


class Bounds:
    """The tightest bounds of one type (Container or Pod), amounts in nanos; the first default seen wins."""

    __slots__ = ("default", "default_request", "least", "most")

    def __init__(self) -> None:
        self.most: Nanos = {}
        self.least: Nanos = {}
        self.default: Nanos = {}
        self.default_request: Nanos = {}

    def add(self, item: LimitRangeItem) -> None:
        for name, amount in _nanos(item.max):
            self.most[name] = min(amount, self.most.get(name, amount))
        for name, amount in _nanos(item.min):
            self.least[name] = max(amount, self.least.get(name, amount))
        for name, amount in _nanos(item.default):
            self.default.setdefault(name, amount)
        for name, amount in _nanos(item.default_request):
            self.default_request.setdefault(name, amount)


def _nanos(quantities: dict[str, Quantity] | None) -> Iterator[tuple[str, int]]:
    for name, amount in (quantities or {}).items():
        yield name, quantity.nanos(amount)


class LimitSummary:
    """All LimitRanges of a namespace. The empty summary bounds nothing."""

    __slots__ = ("container", "pod")

    def __init__(self, ranges: Iterable[LimitRange] = ()) -> None:
        self.container, self.pod = Bounds(), Bounds()
        for limit_range in ranges:
            for item in limit_range.spec.limits or ():
                if item.type == "Container":
                    self.container.add(item)
                elif item.type == "Pod":
                    self.pod.add(item)

    def fill_defaults(self, pod: PodRequests) -> None:
        for container in (*pod.containers, *pod.init_containers):
            _fill(container, self.container)
        if pod.pod_level is not None:
            _fill(pod.pod_level, self.pod)

    def violations(self, pod: PodRequests, path: str) -> list[str]:
        """Errors in Kubernetes' text form, ``path`` being that of the pod's spec."""
        errors = []
        for place, container in _containers(pod, path):
            both = container.requests.keys() | container.limits.keys()
            most = {n: max(container.requests.get(n, 0), container.limits.get(n, 0)) for n in both}
            least = {
                n: min(container.requests.get(n, container.limits.get(n, 0)), container.limits.get(n, most[n]))
                for n in both
            }
            errors += _errors(place, _greater(most, self.container.most), ABOVE_MAX)
            errors += _errors(place, _greater(self.container.least, least), BELOW_MIN)
        total = pod.effective()
        errors += _errors(path, _greater(total, self.pod.most), ABOVE_MAX)
        errors += _errors(path, _greater(self.pod.least, total), BELOW_MIN)
        return errors


NO_LIMITS: Final = LimitSummary()


def _fill(container: ContainerRequests, bounds: Bounds) -> None:
    for name, amount in bounds.default.items():
        container.limits.setdefault(name, amount)
    for name, amount in bounds.default_request.items():
        container.requests.setdefault(name, amount)


def above_limits(pod: PodRequests, path: str) -> list[str]:
    """Where a request exceeds the limit beside it; errors in Kubernetes' text form."""
    errors = []
    for place, container in _containers(pod, path):
        errors += _errors(place, _greater(container.requests, container.limits), ABOVE_LIMIT)
    if pod.pod_level is not None:
        errors += _errors(f"{path}.resources", _greater(pod.pod_level.requests, pod.pod_level.limits), ABOVE_LIMIT)
    return errors


def aggregate(errors: list[str]) -> str:
    """Several errors as apimachinery prints an aggregate."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def _containers(pod: PodRequests, path: str) -> Iterator[tuple[str, ContainerRequests]]:
    for index, container in enumerate(pod.init_containers):
        yield f"{path}.initContainers[{index}]", container
    for index, container in enumerate(pod.containers):
        yield f"{path}.containers[{index}]", container


def _greater(left: Nanos, right: Nanos) -> list[str]:
    return sorted(name for name, amount in left.items() if name in right and amount > right[name])


def _errors(place: str, names: list[str], detail: str) -> list[str]:
    if not names:
        return []
    listed = ",".join(f'"{name}"' for name in names)
    return [f"{place}: Invalid value: [{listed}]: {detail}"]

"""PodShape: what the engine needs of one pod template, decoded and reckoned once and shared by all that are alike.

Thousands of Workloads come from a handful of templates. Equal templates (under equal LimitRanges and runtime classes)
share one PodShape; it lives as long as some row uses it.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.meta import Quantity
from worker_agent.api.pod import Container, PodSpec, decode_template
from worker_agent.engine import limit_ranges, pod_requests
from worker_agent.engine.devices import extended
from worker_agent.engine.devices.inventory import DeviceInventory
from worker_agent.engine.limit_ranges import LimitSummary
from worker_agent.engine.pod_requests import PodRequests
from worker_agent.engine.policy import Policy
from worker_agent.engine.resources import Amounts, Requests

_numbers = itertools.count()


class PodShape:
    """Immutable. ``requests`` are one pod's, ``digest`` is equal for templates that no decision can tell apart."""

    __slots__ = (
        "__weakref__",
        "claims",
        "digest",
        "extended",
        "flawless",
        "hashes",
        "held",
        "number",
        "pod",
        "pod_requests",
        "requests",
        "spec",
        "usages",
        "written",
    )

    def __init__(self, spec: PodSpec, pod: PodRequests, requests: Requests, limits: LimitSummary) -> None:
        self.spec = spec
        self.pod = pod
        self.requests = requests
        self.pod_requests = pod_requests.rounded(pod.effective())
        """What nodes see of it: nothing left out, nothing transformed."""
        self.digest = _digest(spec, pod)
        self.number: int = next(_numbers)
        """Tells this shape from all others that ever were."""
        self.hashes: dict[tuple[int, str, int, int | None], str] = {}
        """Scheduling hashes of workloads of one pod set of this shape, as far as they were asked for."""
        self.held: dict[tuple[Any, ...], tuple[dict[str, str], Requests, int]] = {}
        """Flavors, requests and count by the admissions of its pod sets: shared by the rows that hold the same."""
        self.usages: dict[tuple[Any, ...], Amounts] = {}
        """Usage of workloads of one pod set, likewise."""
        self.written: dict[tuple[Any, ...], tuple[Document, ...]] = {}
        """What ``status.resourceRequests`` says of them, likewise."""
        self.claims = bool(spec.resource_claims)
        """Whether the pod claims devices."""
        self.extended = extended.asked_for(spec)
        """Extended resources it asks for: a DeviceClass may stand for them."""
        self.flawless = not limit_ranges.above_limits(pod, "") and not limits.violations(pod, "")

    def with_requests(self, requests: Requests) -> "PodShape":
        """The same pod, charged otherwise."""
        other = object.__new__(PodShape)
        for name in ("spec", "pod", "pod_requests", "digest", "claims", "extended", "flawless"):
            setattr(other, name, getattr(self, name))
        other.requests, other.number, other.hashes = requests, next(_numbers), {}
        other.held, other.usages, other.written = {}, {}, {}
        return other


MOST_WRITTEN: Final = 1_000
"""Templates remembered by their bytes: where every job's differs in a name, their text must not pile up."""


@dataclass(slots=True)
class ShapeSource:
    """Makes shapes. ``version`` grows with every LimitRange or RuntimeClass change: old shapes are left alone.

    ``devices`` is what claims of devices are resolved with.
    """

    policy: Policy
    limits: dict[str, LimitSummary] = field(default_factory=dict)
    overheads: dict[str, Mapping[str, Quantity]] = field(default_factory=dict)
    devices: DeviceInventory = field(default_factory=DeviceInventory)
    version: int = 0
    _known: WeakValueDictionary[tuple[Any, ...], PodShape] = field(default_factory=WeakValueDictionary)
    _written: WeakValueDictionary[tuple[Any, ...], PodShape] = field(default_factory=WeakValueDictionary)
    """By the very bytes of the template: those of one controller are equal to the byte."""

    def shape(self, template: msgspec.Raw, namespace: str) -> PodShape:
        """The shape of a PodTemplateSpec. Raises quantity.QuantityError, msgspec.ValidationError."""
        limits = self.limits.get(namespace, limit_ranges.NO_LIMITS)
        written = (bytes(template), id(limits), self.version)
        shape = self._written.get(written)
        if shape is None:
            if len(self._written) >= MOST_WRITTEN:
                self._written.clear()
            shape = self._written[written] = self._shape(template, limits)
        return shape

    def is_plain(self, namespace: str) -> bool:
        """Whether shapes of this namespace follow from template and policy alone: any plain source makes the same."""
        return namespace not in self.limits and not any(self.overheads.values()) and not self.devices.version

    def _shape(self, template: msgspec.Raw, limits: LimitSummary) -> PodShape:
        spec = decode_template(template).spec
        alike = (msgspec.json.encode(spec), id(limits), self.version)
        shape = self._known.get(alike)
        if shape is None:
            shape = self._known[alike] = self._make(spec, limits)
        return shape

    def _make(self, spec: PodSpec, limits: LimitSummary) -> PodShape:
        if spec.runtime_class_name and not spec.overhead:
            spec.overhead = dict(self.overheads.get(spec.runtime_class_name, {})) or None
        pod = PodRequests(spec)
        limits.fill_defaults(pod)
        pod.limits_become_requests()
        requests = pod_requests.rounded(
            pod.effective(), self.policy.exclude_resource_prefixes, self.policy.transformations
        )
        return PodShape(spec, pod, requests, limits)


def _digest(spec: PodSpec, pod: PodRequests) -> bytes:
    """The fields of spec/engine 5.6, encoded; labels, names and images are not among them."""
    containers = [
        _container(container, amounts.requests)
        for of_spec, of_pod in ((spec.init_containers, pod.init_containers), (spec.containers, pod.containers))
        for container, amounts in zip(of_spec or (), of_pod, strict=True)
    ]
    parts = [
        len(pod.init_containers),
        containers,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.runtime_class_name,
        spec.priority,
        spec.topology_spread_constraints,
        pod.overhead,
        spec.resource_claims,
        pod.pod_level.requests if pod.pod_level else None,
    ]
    return msgspec.json.encode(parts, order="deterministic")


def _container(container: Container, requests: Mapping[str, int]) -> list[Any]:
    return [requests, container.ports, container.restart_policy]

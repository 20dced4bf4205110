"""Ask: what a pod set wants from a topology, resolved against its levels (spec/tas 4, 6 and 7.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from worker_agent.api.pod import NodeAffinity, Toleration
from worker_agent.api.workload import PodSetTopologyRequest
from worker_agent.engine.resources import Requests
from worker_agent.engine.tas import placed_pods
from worker_agent.engine.tas.topology_assignment import TopologyAssignment
from worker_agent.engine.tas.tree import TopologyTree

NO_REQUEST = PodSetTopologyRequest()


class Layer(NamedTuple):
    """Every ``size`` pods share one domain of ``level`` (a node label)."""

    level: str
    size: int


class AskError(ValueError):
    """The request cannot be served by this topology, whatever is free; the message is the reason."""


@dataclass(frozen=True, slots=True)
class PodDemand:
    """What one pod demands of a node."""

    tolerations: Sequence[Toleration] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: NodeAffinity | None = None

    _signature: list[tuple[Any, ...]] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Equal for demands that every node answers alike."""
        if not self._signature:
            self._signature.append(self._signed())
        return self._signature[0]

    def _signed(self) -> tuple[Any, ...]:
        tolerations = tuple((t.key, t.operator, t.value, t.effect) for t in self.tolerations)
        affinity = b"" if self.affinity is None else msgspec.json.encode(self.affinity)
        return tolerations, tuple(sorted(self.node_selector.items())), affinity


@dataclass(frozen=True, slots=True)
class PodSetAsk:
    """``count`` pods of one pod set; ``requests`` are one pod's, ``group`` joins a leader to its workers."""

    name: str
    count: int
    requests: Requests
    request: PodSetTopologyRequest
    demand: PodDemand
    implied: bool = False
    group: str | None = None
    previous: TopologyAssignment | None = None
    """Where the pods of the replaced slice of an elastic job run."""

    _with_pod: list[Requests] = field(default_factory=list, init=False, compare=False, repr=False)
    _signature: list[tuple[Any, ...]] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Equal for asks that have one answer."""
        if not self._signature:
            self._signature.append(self._signed())
        return self._signature[0]

    def _signed(self) -> tuple[Any, ...]:
        request = msgspec.json.encode(self.request)
        demand = self.demand.signature
        return (
            self.name,
            self.count,
            tuple(self.requests.items()),
            request,
            demand,
            self.implied,
            self.group,
            self.previous,
        )

    @property
    def with_pod(self) -> Requests:
        """One pod's requests, itself counted."""
        if not self._with_pod:
            self._with_pod.append(placed_pods.with_pod(self.requests))
        return self._with_pod[0]


def layers(request: PodSetTopologyRequest) -> list[Layer]:
    """The slices, widest first; one pod set knows both forms."""
    if request.podset_slice_required_topology_constraints:
        return [Layer(c.topology, c.size) for c in request.podset_slice_required_topology_constraints]
    if request.pod_set_slice_required_topology is not None:
        return [Layer(request.pod_set_slice_required_topology, request.pod_set_slice_size or 0)]
    return []


def is_slice_only(request: PodSetTopologyRequest) -> bool:
    return bool(layers(request)) and request.required is None and request.preferred is None


def requested_label(request: PodSetTopologyRequest, levels: Sequence[str], implied: bool) -> str | None:
    """The label of the level at which the search starts; None when nothing says one."""
    if request.required is not None:
        return request.required
    if request.preferred is not None:
        return request.preferred
    if is_slice_only(request):
        return levels[0]
    if request.unconstrained or implied:
        return levels[-1]
    return None


@dataclass(frozen=True, slots=True)
class Placing:
    """One search: levels as indices, slices, and how to choose."""

    count: int
    leaders: int
    level: int
    slice_level: int
    slice_size: int
    inner: Mapping[int, int]
    """Level -> size of the smaller slices that must be whole there."""
    layers: tuple[Layer, ...]
    required: bool
    unconstrained: bool
    least_free: bool

    @property
    def slices(self) -> int:
        return self.count // self.slice_size


def resolve(ask: PodSetAsk, count: int, leaders: int, tree: TopologyTree, mixed_profile: bool) -> Placing:
    """Raises AskError."""
    request = ask.request
    wanted = layers(request)
    if wanted and wanted[0].size <= 0:
        raise AskError("slice topology requested, but slice size not provided")
    label = requested_label(request, tree.levels, ask.implied)
    if label is None:
        raise AskError("topology level not specified")
    level = tree.level_of(label)
    if level is None:
        raise AskError(f"no requested topology level: {label}")
    slice_label = wanted[0].level if wanted else tree.levels[-1]
    slice_level = tree.level_of(slice_label)
    if slice_level is None:
        raise AskError(f"no requested topology level for slices: {slice_label}")
    if level > slice_level:
        raise AskError(f"podset slice topology {slice_label} is above the podset topology {label}")
    unconstrained = bool(request.unconstrained) or ask.implied or is_slice_only(request)
    return Placing(
        count=count,
        leaders=leaders,
        level=level,
        slice_level=slice_level,
        slice_size=wanted[0].size if wanted else 1,
        inner=_inner_sizes(wanted, tree),
        layers=tuple(wanted),
        required=request.required is not None,
        unconstrained=unconstrained,
        least_free=unconstrained and mixed_profile,
    )


def _inner_sizes(wanted: Sequence[Layer], tree: TopologyTree) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for outer, layer in pairwise(wanted):
        above, level = tree.levels.index(outer.level), tree.level_of(layer.level)
        if level is None:
            raise AskError(f"no requested topology level for additional slice layer: {layer.level}")
        if level <= above:
            raise AskError(f"additional slice layer topology {layer.level} must be at a lower level than {outer.level}")
        if layer.size <= 0 or outer.size % layer.size:
            raise AskError(
                f"additional slice layer size {layer.size} must evenly divide parent layer size {outer.size}"
            )
        for between in range(above + 1, level + 1):
            sizes[between] = layer.size
    return sizes

"""Ungating: which gated pod goes to which domain of its pod set's assignment (spec/tas 17).

By rank where every pod of the pod set tells a usable one, else domain by domain in the order of the pods.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from worker_agent.api import names
from worker_agent.api.document import Document, get
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.topology_encoding import Domain
from worker_agent.engine import workload_status
from worker_agent.engine.tas import topology_assignment
from worker_agent.engine.tas.topology_assignment import TopologyAssignment

_ENDED = ("Succeeded", "Failed")


class UngatingError(ValueError):
    """Not now; the message says why."""


@dataclass(frozen=True, slots=True)
class Ungate:
    """Take the topology gate from ``pod`` and add ``node_selector`` to its own."""

    pod: Document
    node_selector: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Ranks:
    """How pods of a pod set number themselves."""

    count: int
    offset: int
    limit: int
    """Indices stay below it."""
    request: Document


def decide(workload: Document, pods: Sequence[Document], unobserved: Collection[str] = ()) -> list[Ungate]:
    """``pods`` of the namespace; ``unobserved``: UIDs of pods ungated before that do not show it yet.

    Raises UngatingError.
    """
    assignments = get(workload, "status.admission.podSetAssignments", []) or []
    if not workload_status.is_true(workload, names.ADMITTED) or not any(map(_place, assignments)):
        return []
    if unobserved:
        raise UngatingError("pending ungate operations")
    failed = {node["name"] for node in get(workload, "status.unhealthyNodes", []) or ()}
    found: list[Ungate] = []
    for assignment in assignments:
        place = _place(assignment)
        if place is not None:
            mine = list(pods_of(workload, pods, assignment["name"]))
            found += _ungate(place, mine, _ranks(workload, assignments, assignment, mine), failed)
    return found


def slice_name(workload: Document) -> str:
    """By which all slices of one elastic job know their pods."""
    annotations = get(workload, "metadata.annotations", {}) or {}
    return str(annotations.get(names.WORKLOAD_SLICE_NAME_ANNOTATION) or workload["metadata"]["name"])


def belongs(pod: Document, workload: Document) -> bool:
    """Whether the pod runs for the workload or another slice of its job."""
    annotations = get(pod, "metadata.annotations", {}) or {}
    named = annotations.get(names.WORKLOAD_SLICE_NAME_ANNOTATION) or annotations.get(names.WORKLOAD_ANNOTATION)
    same = (get(pod, "metadata.namespace", "") or "") == (get(workload, "metadata.namespace", "") or "")
    return same and named == slice_name(workload)


def pods_of(workload: Document, pods: Iterable[Document], pod_set: str) -> Iterable[Document]:
    """Pods of one pod set that have not ended."""
    for pod in pods:
        labels = get(pod, "metadata.labels", {}) or {}
        ended = get(pod, "status.phase", "") in _ENDED
        if labels.get(names.POD_SET_LABEL) == pod_set and belongs(pod, workload) and not ended:
            yield pod


def is_gated(pod: Document) -> bool:
    gates = get(pod, "spec.schedulingGates", []) or ()
    return any(gate["name"] == names.TOPOLOGY_SCHEDULING_GATE for gate in gates)


def _place(assignment: Document) -> TopologyAssignment | None:
    return topology_assignment.decode(assignment.get("topologyAssignment"))


def _ungate(
    place: TopologyAssignment, pods: Sequence[Document], ranks: _Ranks, failed: Collection[str]
) -> Iterable[Ungate]:
    by_rank = _by_rank(place, pods, ranks)
    for pod, domain in _greedily(place, pods) if by_rank is None else by_rank:
        if place.levels[-1] != HOSTNAME_LABEL or domain.values[-1] not in failed:
            yield Ungate(pod, dict(zip(place.levels, domain.values, strict=True)))


# -- by rank ---------------------------------------------------------------------------------------------------------


def _ranks(
    workload: Document, assignments: Sequence[Document], assignment: Document, pods: Sequence[Document]
) -> _Ranks:
    pod_sets = {pod_set["name"]: pod_set for pod_set in workload["spec"]["podSets"]}
    counts = {a["name"]: a.get("count") or pod_sets[a["name"]]["count"] for a in assignments}
    name = assignment["name"]
    request = pod_sets[name].get("topologyRequest") or {}
    offset, limit = _share_of_group(name, request.get("podSetGroupName"), pod_sets, counts)
    if pods:
        told = (get(pods[0], "metadata.annotations", {}) or {}).get(names.POD_INDEX_OFFSET_ANNOTATION)
        if told is not None:
            try:
                offset, limit = offset + int(told), limit + int(told)
            except ValueError as error:
                raise UngatingError(f"invalid {names.POD_INDEX_OFFSET_ANNOTATION}: {told!r} is no integer") from error
    return _Ranks(counts[name], offset, limit, request)


def _share_of_group(
    name: str, group: str | None, pod_sets: Mapping[str, Document], counts: Mapping[str, int]
) -> tuple[int, int]:
    """(first index, past the last) of the pod set: a leader comes before its workers."""
    members = [
        n for n, p in pod_sets.items() if group and (p.get("topologyRequest") or {}).get("podSetGroupName") == group
    ]
    if len(members) != 2:
        return 0, counts[name]
    first, second = members
    smaller = second if counts.get(second, 0) < counts.get(first, 0) else first
    if name == smaller:
        return 0, counts[name]
    return counts.get(smaller, 0), counts.get(smaller, 0) + counts[name]


def _by_rank(
    place: TopologyAssignment, pods: Sequence[Document], ranks: _Ranks
) -> list[tuple[Document, Domain]] | None:
    """None as soon as one rank is missing, doubled, out of range or contradicted by a pod that runs already."""
    if not ranks.request.get("podIndexLabel"):
        return None
    domains = [domain for domain in place.domains for _ in range(domain.pods)]
    found: dict[int, Document] = {}
    for pod in pods:
        rank = _rank(pod, ranks)
        if rank is None or not 0 <= rank < min(ranks.count, len(domains)) or rank in found:
            return None
        if not is_gated(pod) and not _runs_in(pod, place, domains[rank]):
            return None
        found[rank] = pod
    return [(pod, domains[rank]) for rank, pod in found.items() if is_gated(pod)]


def _rank(pod: Document, ranks: _Ranks) -> int | None:
    labels = get(pod, "metadata.labels", {}) or {}
    index = _number(labels.get(ranks.request["podIndexLabel"]))
    if index is None or index >= ranks.limit:
        return None
    sub_group = ranks.request.get("subGroupIndexLabel")
    if not sub_group:
        return index - ranks.offset
    groups = ranks.request.get("subGroupCount") or 0
    job = _number(labels.get(sub_group))
    if groups <= 0 or job is None or job >= groups or index >= ranks.count // groups:
        return None
    return index + job * (ranks.count // groups) - ranks.offset


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _runs_in(pod: Document, place: TopologyAssignment, domain: Domain) -> bool:
    return _selected(pod, place) == domain.values


def _selected(pod: Document, place: TopologyAssignment) -> tuple[str | None, ...]:
    """What the pod's node selector says of each level."""
    selector = get(pod, "spec.nodeSelector", {}) or {}
    return tuple(selector.get(level) for level in place.levels)


# -- in order --------------------------------------------------------------------------------------------------------


def _greedily(place: TopologyAssignment, pods: Sequence[Document]) -> Iterable[tuple[Document, Domain]]:
    waiting = iter([pod for pod in pods if is_gated(pod)])
    running = Counter(_selected(pod, place) for pod in pods if not is_gated(pod))
    for domain in place.domains:
        free = max(0, domain.pods - running[domain.values])
        for pod in islice(waiting, free):
            yield pod, domain

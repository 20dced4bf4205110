"""Workload in v1beta1: the priority class by name and source, topology domains one by one, one field misspelled."""

from typing import Final

from worker_agent.api import topology_encoding
from worker_agent.api.document import Document
from worker_agent.api.resource_type import PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from worker_agent.api.versions.fields import each, renamed, within, without
from worker_agent.api.versions.old_version import OldVersion, Rewrite, Rewrites
from worker_agent.api.versions.workload_schema import CHANGES

_SOURCES: Final = {
    f"{kind.group}/{kind.kind.lower()}": (kind.group, kind.kind)
    for kind in (WORKLOAD_PRIORITY_CLASSES, PRIORITY_CLASSES)
}
_SOURCE_OF: Final = {reference: source for source, reference in _SOURCES.items()}
_MISSPELLED: Final = "accumulatedPastExexcutionTimeSeconds"
_SPELLED: Final = "accumulatedPastExecutionTimeSeconds"


def _spec_to_v1beta2(spec: Document) -> Document:
    found = _SOURCES.get(spec.get("priorityClassSource") or "")
    name = spec.get("priorityClassName")
    spec = without(spec, "priorityClassName", "priorityClassSource", "priorityClassRef")
    if found is not None:
        spec["priorityClassRef"] = {"group": found[0], "kind": found[1], "name": name or ""}
    return spec


def _spec_to_v1beta1(spec: Document) -> Document:
    reference = spec.get("priorityClassRef") or {}
    source = _SOURCE_OF.get((reference.get("group", ""), reference.get("kind", "")))
    old = without(spec, "priorityClassRef", "preemptionGates", "priorityClassName")
    old["priorityClassSource"] = source or ""
    if source and reference.get("name"):
        old["priorityClassName"] = reference["name"]
    return each(old, "podSets", lambda pods: within(pods, "topologyRequest", _older_request))


def _older_request(request: Document) -> Document:
    return without(request, "podsetSliceRequiredTopologyConstraints")


def _placed(status: Document, rewrite: Rewrite) -> Document:
    """The status with the topology assignment of every pod set rewritten."""

    def of_pods(pods: Document) -> Document:
        return within(pods, "topologyAssignment", rewrite)

    return within(status, "admission", lambda admission: each(admission, "podSetAssignments", of_pods))


def _slices(assignment: Document) -> Document:
    """Domains as one compact slice, as Kueue converts them."""
    levels, domains = assignment.get("levels") or [], assignment.get("domains") or []
    columns = list(zip(*(domain["values"] for domain in domains), strict=True))
    pods = [domain["count"] for domain in domains]
    slices = topology_encoding.encode(levels, topology_encoding.Columns(columns, pods), by_prefix=False)
    return {**without(assignment, "domains", "slices"), "slices": slices}


def _domains(assignment: Document) -> Document:
    found = topology_encoding.decode(assignment.get("slices") or ())
    domains = [{"values": list(domain.values), "count": domain.pods} for domain in found]
    return {**without(assignment, "slices", "domains"), "domains": domains}


def _status_to_v1beta2(status: Document) -> Document:
    return _placed(renamed(status, _MISSPELLED, _SPELLED), _slices)


def _status_to_v1beta1(status: Document) -> Document:
    return _placed(without(renamed(status, _SPELLED, _MISSPELLED), "preemptionGates"), _domains)


def _to_v1beta2(document: Document) -> Document:
    return within(within(document, "spec", _spec_to_v1beta2), "status", _status_to_v1beta2)


def _to_v1beta1(document: Document) -> Document:
    return within(within(document, "spec", _spec_to_v1beta1), "status", _status_to_v1beta1)


OLD_VERSION: Final = OldVersion(
    WORKLOADS, changes=CHANGES, rewrites=Rewrites(_to_v1beta2, _to_v1beta1), selectable=False
)

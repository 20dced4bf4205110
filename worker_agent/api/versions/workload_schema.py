"""How the schema of Workload in v1beta1 differs."""

from typing import Annotated, Final

from worker_agent.api import structural_schema
from worker_agent.api.meta import View
from worker_agent.api.resource_type import PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES
from worker_agent.api.schema import DNS_SUBDOMAIN, Field, Int32
from worker_agent.api.versions.schema_changes import Change
from worker_agent.api.workload_rules import AS_MANY_ASSIGNMENTS, SAME_QUEUE, SAME_TIME, holds

_SOURCES: Final = [f"{kind.group}/{kind.kind.lower()}" for kind in (WORKLOAD_PRIORITY_CLASSES, PRIORITY_CLASSES)]
_WAS_RESERVED: Final = holds("oldSelf", "QuotaReserved")


def _both(field: str) -> str:
    return f"has(self.spec.{field}) && has(oldSelf.spec.{field})"


def _frozen(field: str) -> str:
    """True unless both have the field, and not the same."""
    return f"!({_both(field)}) || self.spec.{field} == oldSelf.spec.{field}"


_RULES: Final = (
    (AS_MANY_ASSIGNMENTS.message, AS_MANY_ASSIGNMENTS.rule),
    (
        "priorityClassSource is immutable while workload quota reserved",
        f"{_frozen('priorityClassSource')} || !({_WAS_RESERVED})",
    ),
    (
        "priorityClassName is immutable while workload quota reserved and priorityClassSource is not equal to "
        f"{_SOURCES[0]}",
        f"{_frozen('priorityClassName')} || !({_both('priorityClassSource')}) || "
        f"self.spec.priorityClassSource == '{_SOURCES[0]}' || !({_WAS_RESERVED})",
    ),
    (SAME_QUEUE.message, SAME_QUEUE.rule),
    (SAME_TIME.message, SAME_TIME.rule),
)


class _Domain(View):
    """One domain and its pods."""

    values: Annotated[
        list[str], Field("Its values, one per level.", required=True, min_items=1, max_items=16, list_type="atomic")
    ] = []
    count: Annotated[Int32, Field("How many pods.", required=True, minimum=1)] = 1


class _Domains(View):
    domains: Annotated[list[_Domain], Field("The domains, in the order of the pods' ranks.", required=True)] = []


_UNLIMITED: Final = {"minLength": None, "maxLength": None}
_REQUEST: Final = "spec.podSets[].topologyRequest"
_ASSIGNMENT: Final = "status.admission.podSetAssignments[]"

CHANGES: Final = (
    Change("", keywords={"x-kubernetes-validations": [{"message": said, "rule": rule} for said, rule in _RULES]}),
    Change(
        "spec",
        fields={
            "preemptionGates": None,
            "priorityClassRef": None,
            "priorityClassName": {
                "type": "string",
                "description": "The class that the priority comes from.",
                "maxLength": 253,
                "pattern": DNS_SUBDOMAIN,
            },
            "priorityClassSource": {
                "type": "string",
                "description": "Which sort of class that is; empty where there is none.",
                "default": "",
                "enum": [*_SOURCES, ""],
            },
        },
        keywords={
            "required": ["podSets"],
            "x-kubernetes-validations": [
                {
                    "message": "priority should not be nil when priorityClassName is set",
                    "rule": "has(self.priorityClassName) ? has(self.priority) : true",
                }
            ],
        },
    ),
    Change("spec.podSets[]", keywords={"required": ["count", "template"]}),
    Change(_REQUEST, fields={"podsetSliceRequiredTopologyConstraints": None}),
    *(
        Change(f"{_REQUEST}.{name}", keywords=_UNLIMITED)
        for name in (
            "podIndexLabel",
            "podSetGroupName",
            "podSetSliceRequiredTopology",
            "preferred",
            "required",
            "subGroupIndexLabel",
        )
    ),
    Change(f"{_REQUEST}.subGroupCount", keywords={"minimum": None}),
    Change(
        "status",
        fields={
            "accumulatedPastExecutionTimeSeconds": None,
            "accumulatedPastExexcutionTimeSeconds": {
                "type": "integer",
                "format": "int32",
                "description": "Seconds it was admitted before the present admission.",
            },
            "preemptionGates": None,
        },
    ),
    Change("status.admission", keywords={"required": ["clusterQueue", "podSetAssignments"]}),
    Change(_ASSIGNMENT, keywords={"required": ["name"]}),
    Change(f"{_ASSIGNMENT}.delayedTopologyRequest", keywords={"enum": None, "maxLength": None}),
    Change(
        f"{_ASSIGNMENT}.topologyAssignment",
        fields={"slices": None, **structural_schema.of_view(_Domains)["properties"]},
        keywords={"required": ["domains", "levels"], "x-kubernetes-validations": None},
    ),
    Change(f"{_ASSIGNMENT}.topologyAssignment.levels[]", keywords=_UNLIMITED),
    Change("status.admissionChecks[].name", keywords={"minLength": None}),
    Change("status.admissionChecks[].podSetUpdates[].tolerations", keywords={"x-kubernetes-list-type": None}),
    Change("status.clusterName", keywords=_UNLIMITED),
    Change("status.conditions", keywords={"maxItems": None}),
    Change("status.nominatedClusterNames[]", keywords=_UNLIMITED),
    Change("status.schedulingStats.evictions", keywords={"maxItems": None}),
    Change(
        "status.unhealthyNodes",
        keywords={"maxItems": None, "x-kubernetes-list-type": None, "x-kubernetes-list-map-keys": None},
    ),
    Change("status.unhealthyNodes[].name", keywords=_UNLIMITED),
)

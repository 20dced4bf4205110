"""The CEL rules of the Workload definition: what the API server itself keeps true, whoever writes.

They are spelled as Kueue spells them, because the text is part of the definition that tools compare.
"""

from typing import Final

from worker_agent.api.schema import Rule


def holds(object_: str, condition: str) -> str:
    """That a condition of an object is true."""
    return (
        f"has({object_}.status) && has({object_}.status.conditions) && {object_}.status.conditions"
        f".exists(c, c.type == '{condition}' && c.status == 'True')"
    )


_WAS_RESERVED: Final = holds("oldSelf", "QuotaReserved")
_IS_RESERVED: Final = holds("self", "QuotaReserved")
_BOTH_REFERENCES: Final = "has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef)"


def _frozen_reference(part: str) -> Rule:
    return Rule(
        f"({_WAS_RESERVED} && {_BOTH_REFERENCES}) ? "
        f"oldSelf.spec.priorityClassRef.{part} == self.spec.priorityClassRef.{part} : true",
        f"priorityClassRef.{part} is immutable while workload quota reserved",
    )


WORKLOAD_RULES: Final = (
    Rule(
        f"{_IS_RESERVED} && has(self.status.admission) ? "
        "size(self.spec.podSets) == size(self.status.admission.podSetAssignments) : true",
        "podSetAssignments must have the same number of podSets as the spec",
    ),
    Rule(
        f"({_WAS_RESERVED}) ? (!has(oldSelf.spec.priorityClassRef) && !has(self.spec.priorityClassRef)) || "
        f"({_BOTH_REFERENCES}) : true",
        "priorityClassRef is immutable while workload quota reserved",
    ),
    _frozen_reference("group"),
    _frozen_reference("kind"),
    Rule(
        f"({_WAS_RESERVED} && {_BOTH_REFERENCES} && self.spec.priorityClassRef.group == 'scheduling.k8s.io' && "
        "self.spec.priorityClassRef.kind == 'PriorityClass') ? "
        "oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name : true",
        "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
    ),
    Rule(
        f"(({_WAS_RESERVED}) && ({_IS_RESERVED})) ? ((has(oldSelf.spec.queueName) == has(self.spec.queueName)) && "
        "(!has(oldSelf.spec.queueName) || oldSelf.spec.queueName == self.spec.queueName)) : true",
        "queueName is immutable while workload quota reserved",
    ),
    Rule(
        f"(({holds('oldSelf', 'Admitted')}) && ({holds('self', 'Admitted')}))?"
        "((has(oldSelf.spec.maximumExecutionTimeSeconds)?oldSelf.spec.maximumExecutionTimeSeconds:0) ==  "
        "(has(self.spec.maximumExecutionTimeSeconds)?self.spec.maximumExecutionTimeSeconds:0)):true",
        "maximumExecutionTimeSeconds is immutable while workload quota reserved",
    ),
)

STATUS_RULES: Final = (
    Rule(
        "!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",
        "clusterName is immutable once set",
    ),
    Rule(
        "!has(self.clusterName) || (!has(self.nominatedClusterNames) || (has(self.nominatedClusterNames) && "
        "size(self.nominatedClusterNames) == 0))",
        "clusterName and nominatedClusterNames are mutually exclusive",
    ),
)

SPEC_RULES: Final = (
    Rule(
        "!has(self.priorityClassRef) || has(self.priority)",
        "priority should not be nil when priorityClassRef is set",
    ),
)

POD_SET_RULES: Final = (
    Rule(
        "has(self.minCount) ? self.minCount <= self.count : true",
        "minCount should be positive and less or equal to count",
    ),
)

PRIORITY_CLASS_RULES: Final = (
    Rule(
        "(self.group == 'scheduling.k8s.io') ? self.kind == 'PriorityClass' : true",
        "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
    ),
    Rule(
        "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true",
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
)

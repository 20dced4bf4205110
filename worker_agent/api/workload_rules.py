"""The CEL rules of the Workload definition: what the API server itself keeps true, whoever writes.

They say what Kueue's rules say, in its words, in another order: first whether something has changed, and only then
whether it may. A server walks through the conditions of an object at a price that every write of every Workload pays,
and hardly any write changes what these rules keep. A test holds them against Kueue's.
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
_STAY_ADMITTED: Final = f"{holds('oldSelf', 'Admitted')} && {holds('self', 'Admitted')}"
_BOTH_REFERENCES: Final = "has(self.spec.priorityClassRef) && has(oldSelf.spec.priorityClassRef)"
_SAME_QUEUE: Final = (
    "(has(self.spec.queueName) == has(oldSelf.spec.queueName) && "
    "(!has(self.spec.queueName) || self.spec.queueName == oldSelf.spec.queueName))"
)
_SAME_TIME: Final = (
    "(has(self.spec.maximumExecutionTimeSeconds) ? self.spec.maximumExecutionTimeSeconds : 0) == "
    "(has(oldSelf.spec.maximumExecutionTimeSeconds) ? oldSelf.spec.maximumExecutionTimeSeconds : 0)"
)


def _frozen_reference(part: str) -> Rule:
    return Rule(
        f"!({_BOTH_REFERENCES}) || self.spec.priorityClassRef.{part} == oldSelf.spec.priorityClassRef.{part} || "
        f"!({_WAS_RESERVED})",
        f"priorityClassRef.{part} is immutable while workload quota reserved",
    )


AS_MANY_ASSIGNMENTS: Final = Rule(
    "!has(self.status) || !has(self.status.admission) || "
    f"size(self.spec.podSets) == size(self.status.admission.podSetAssignments) || !({_IS_RESERVED})",
    "podSetAssignments must have the same number of podSets as the spec",
)
SAME_QUEUE: Final = Rule(
    f"{_SAME_QUEUE} || !({_WAS_RESERVED}) || !({_IS_RESERVED})",
    "queueName is immutable while workload quota reserved",
)
SAME_TIME: Final = Rule(
    f"{_SAME_TIME} || !({_STAY_ADMITTED})",
    "maximumExecutionTimeSeconds is immutable while workload quota reserved",
)

WORKLOAD_RULES: Final = (
    AS_MANY_ASSIGNMENTS,
    Rule(
        f"has(self.spec.priorityClassRef) == has(oldSelf.spec.priorityClassRef) || !({_WAS_RESERVED})",
        "priorityClassRef is immutable while workload quota reserved",
    ),
    _frozen_reference("group"),
    _frozen_reference("kind"),
    Rule(
        f"!({_BOTH_REFERENCES}) || self.spec.priorityClassRef.name == oldSelf.spec.priorityClassRef.name || "
        "self.spec.priorityClassRef.group != 'scheduling.k8s.io' || "
        f"self.spec.priorityClassRef.kind != 'PriorityClass' || !({_WAS_RESERVED})",
        "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
    ),
    SAME_QUEUE,
    SAME_TIME,
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

"""Which rules are on: feature gates resolved once, so that no rule asks for a gate."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

_GATES: Final = {
    "partial_admission": "PartialAdmission",
    "elastic_jobs": "ElasticJobsViaWorkloadSlices",
    "non_negative_resources": "WorkloadValidateResourcesAreNonNegative",
    "pod_set_metadata": "WorkloadValidationForPodSetMetadata",
    "slice_size": "TASValidateWorkloadSliceSize",
    "topology_aware": "TopologyAwareScheduling",
    "priority_boost": "PriorityBoost",
    "admission_gated_by": "AdmissionGatedBy",
    "concurrent_admission": "ConcurrentAdmission",
    "reject_stale_on_flavors": "RejectUpdatesToCQWithInvalidOnFlavors",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPolicy:
    """The defaults are those of the gates."""

    partial_admission: bool = True
    elastic_jobs: bool = True
    non_negative_resources: bool = True
    pod_set_metadata: bool = True
    slice_size: bool = True
    topology_aware: bool = True
    priority_boost: bool = False
    admission_gated_by: bool = True
    concurrent_admission: bool = False
    reject_stale_on_flavors: bool = False

    @classmethod
    def from_gates(cls, gates: Mapping[str, bool]) -> Self:
        """Gates by their names; those not named keep their default, unknown ones do not matter here."""
        given = {f.name: gates[_GATES[f.name]] for f in fields(cls) if _GATES[f.name] in gates}
        return cls(**given)

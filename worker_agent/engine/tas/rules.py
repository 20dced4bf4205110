"""What configuration says about topology placement (spec/tas 1), resolved once with the policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRules:
    """The default instance is Kueue's default configuration."""

    mixed_profile: bool = True
    """Unconstrained pods fill the fullest domains first (LeastFreeCapacity); all others take the tightest (BestFit)."""
    balanced: bool = False
    preferred_affinity: bool = False
    """Preferred node affinity ranks domains."""
    scores_once: bool = True
    """Preferred affinity counts only for the first placement of a pod set in a cycle, as in the reference."""
    overlapping_flavors: bool = True
    """Pods count on their host for every flavor that has it."""
    elastic: bool = False
    """A bigger slice of an elastic job keeps the places of the one before."""
    encode_by_prefix: bool = True
    fail_fast: bool = True
    """A failed node without replacement evicts at once."""
    keep_pod_owned: bool = True
    """A workload of a single pod keeps its place whatever happens to the node."""


DEFAULT_TOPOLOGY_RULES: Final = TopologyRules()


def read_topology_rules(gates: Mapping[str, bool]) -> TopologyRules:
    return TopologyRules(
        mixed_profile=gates["TASProfileMixed"],
        balanced=gates["TASBalancedPlacement"],
        preferred_affinity=gates["TASRespectNodeAffinityPreferred"],
        scores_once=gates["TASCacheNodeMatchResults"],
        overlapping_flavors=gates["TASHandleOverlappingFlavors"],
        elastic=gates["ElasticJobsViaWorkloadSlicesWithTAS"],
        encode_by_prefix=gates["TASAssignmentsEncodingByHostnamePrefix"],
        fail_fast=gates["TASFailedNodeReplacementFailFast"],
        keep_pod_owned=gates["SkipReassignmentForPodOwnedWorkloads"],
    )

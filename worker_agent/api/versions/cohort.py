"""Cohort in v1beta1: a usage in the past that is not written any more."""

from typing import Final

from worker_agent.api.resource_type import COHORTS
from worker_agent.api.versions.cluster_queue import admission_fair_sharing_status, forget_usage_history
from worker_agent.api.versions.old_version import OldVersion, Rewrites
from worker_agent.api.versions.schema_changes import Change

OLD_VERSION: Final = OldVersion(
    COHORTS,
    changes=(
        Change("spec.resourceGroups[].coveredResources", keywords={"x-kubernetes-list-type": None}),
        Change("status.fairSharing", fields={"admissionFairSharingStatus": admission_fair_sharing_status()}),
    ),
    rewrites=Rewrites(forget_usage_history, lambda document: document, forget_usage_history),
)

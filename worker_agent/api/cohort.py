"""Cohort: an inner node of the quota tree (cluster-scoped)."""

import msgspec

from worker_agent.api.cluster_queue import FairSharing, FairSharingStatus, ResourceGroup
from worker_agent.api.meta import Object, View


class CohortSpec(View):
    parent_name: str = ""
    resource_groups: list[ResourceGroup] = []
    fair_sharing: FairSharing | None = None


class CohortStatus(View):
    fair_sharing: FairSharingStatus | None = None


class Cohort(Object):
    spec: CohortSpec = msgspec.field(default_factory=CohortSpec)
    status: CohortStatus = msgspec.field(default_factory=CohortStatus)

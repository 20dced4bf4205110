"""LocalQueue: the name by which the users of a namespace reach a ClusterQueue."""

from datetime import datetime

import msgspec

from worker_agent.api.cluster_queue import FairSharing, FlavorUsage
from worker_agent.api.meta import Condition, Object, Quantity, View


class LocalQueueSpec(View):
    cluster_queue: str = ""
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None


class AdmissionFairSharingStatus(View):
    consumed_resources: dict[str, Quantity] | None = None
    last_update: datetime | None = None


class LocalQueueFairSharingStatus(View):
    weighted_share: int = 0
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None


class LocalQueueStatus(View):
    conditions: list[Condition] | None = None
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsage] | None = None
    flavors_usage: list[FlavorUsage] | None = None
    fair_sharing: LocalQueueFairSharingStatus | None = None


class LocalQueue(Object):
    spec: LocalQueueSpec = msgspec.field(default_factory=LocalQueueSpec)
    status: LocalQueueStatus = msgspec.field(default_factory=LocalQueueStatus)

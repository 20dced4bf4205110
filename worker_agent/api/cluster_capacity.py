"""ClusterCapacity: what one cluster can still take, written by its own agent for the hub (cluster-scoped, ``this``).

One small object (under 20 kB) instead of every node and pod: the hub turns it into physical room per flavor.
"""

from datetime import datetime

import msgspec

from worker_agent.api.meta import Condition, Object, Quantity, View


class EnginePolicy(View):
    hash: str = ""
    switches: dict[str, str] | None = None


class FlavorCapacity(View):
    flavor: str
    resource: str
    nominal: Quantity = "0"
    used: Quantity = "0"
    reserved: Quantity = "0"
    borrowable: Quantity | None = None


class ClusterQueueCapacity(View):
    name: str
    cohort: str = ""
    active: bool = True
    pending_workloads: int = 0
    demand: dict[str, Quantity] | None = None
    quotas: list[FlavorCapacity] | None = None


class FreeVector(View):
    free: dict[str, Quantity]
    count: int = 1


class Gang(View):
    requests: dict[str, Quantity]
    count: int = 0


class LevelRoom(View):
    node_label: str
    domains: list[FreeVector] | None = None
    largest_gangs: list[Gang] | None = None


class FlavorRoom(View):
    flavor: str
    nodes: int = 0
    free_nodes: list[FreeVector] | None = None
    largest_gangs: list[Gang] | None = None
    levels: list[LevelRoom] | None = None


class LocalQueueUsage(View):
    namespace: str
    name: str
    consumed_resources: dict[str, Quantity] | None = None
    last_update: datetime | None = None


class ClusterCapacityStatus(View):
    engine_version: str = ""
    policy: EnginePolicy | None = None
    reported_at: datetime | None = None
    cluster_queues: list[ClusterQueueCapacity] | None = None
    flavors: list[FlavorRoom] | None = None
    integrations: list[str] | None = None
    local_queue_usage: list[LocalQueueUsage] | None = None
    conditions: list[Condition] | None = None


class ClusterCapacity(Object):
    status: ClusterCapacityStatus = msgspec.field(default_factory=ClusterCapacityStatus)

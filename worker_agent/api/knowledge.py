"""What a hub follows on a worker to judge its capacity; the worker's agent lets that much be read."""

from typing import Final

from worker_agent.api import resource_type

FOLLOWED: Final = (
    resource_type.NAMESPACES,
    resource_type.RESOURCE_FLAVORS,
    resource_type.TOPOLOGIES,
    resource_type.ADMISSION_CHECKS,
    resource_type.COHORTS,
    resource_type.CLUSTER_QUEUES,
    resource_type.LOCAL_QUEUES,
    resource_type.LIMIT_RANGES,
    resource_type.RUNTIME_CLASSES,
    resource_type.CLUSTER_CAPACITIES,
)

"""The older version of every kind that has one."""

from typing import Final

from worker_agent.api.versions import (
    admission_check,
    cluster_queue,
    cohort,
    local_queue,
    multikueue_cluster,
    multikueue_config,
    provisioning_request_config,
    resource_flavor,
    topology,
    workload,
    workload_priority_class,
)
from worker_agent.api.versions.old_version import OldVersion

OLD_VERSIONS: Final[dict[str, OldVersion]] = {
    module.OLD_VERSION.resource.kind: module.OLD_VERSION
    for module in (
        admission_check,
        cluster_queue,
        cohort,
        local_queue,
        multikueue_cluster,
        multikueue_config,
        provisioning_request_config,
        resource_flavor,
        topology,
        workload,
        workload_priority_class,
    )
}
"""By kind; all are of one group."""

CONVERTED: Final = tuple(sorted(kind for kind, old in OLD_VERSIONS.items() if old.rewrites is not None))
"""Kinds whose versions differ in more than limits: somebody has to convert their objects."""

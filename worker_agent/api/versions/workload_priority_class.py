"""WorkloadPriorityClass in v1beta1: a description of any length."""

from typing import Final

from worker_agent.api.resource_type import WORKLOAD_PRIORITY_CLASSES
from worker_agent.api.versions.old_version import OldVersion
from worker_agent.api.versions.schema_changes import Change

OLD_VERSION: Final = OldVersion(
    WORKLOAD_PRIORITY_CLASSES, changes=(Change("description", keywords={"maxLength": None}),)
)

"""MultiKueueConfig in v1beta1: no choice of who manages the quota."""

from typing import Final

from worker_agent.api.resource_type import MULTIKUEUE_CONFIGS
from worker_agent.api.versions.old_version import OldVersion
from worker_agent.api.versions.schema_changes import Change

OLD_VERSION: Final = OldVersion(
    MULTIKUEUE_CONFIGS,
    changes=(
        Change("spec", fields={"quotaManagement": None}),
        Change("spec.clusters", keywords={"x-kubernetes-list-type": "set", "x-kubernetes-validations": None}),
        Change("spec.clusters[]", keywords={"maxLength": None}),
    ),
    deprecated=False,
)

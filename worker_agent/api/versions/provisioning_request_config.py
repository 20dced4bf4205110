"""ProvisioningRequestConfig in v1beta1: fewer limits."""

from typing import Final

from worker_agent.api.resource_type import PROVISIONING_REQUEST_CONFIGS
from worker_agent.api.versions.old_version import OldVersion
from worker_agent.api.versions.schema_changes import Change

OLD_VERSION: Final = OldVersion(
    PROVISIONING_REQUEST_CONFIGS,
    changes=(
        Change(
            "spec.podSetUpdates.nodeSelector",
            keywords={"x-kubernetes-list-type": None, "x-kubernetes-list-map-keys": None},
        ),
        Change("spec.provisioningClassName", keywords={"minLength": None}),
    ),
)

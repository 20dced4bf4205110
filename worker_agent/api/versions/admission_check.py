"""AdmissionCheck in v1beta1: a delay that nothing reads any more, and fewer limits."""

from typing import Final

from worker_agent.api.resource_type import ADMISSION_CHECKS
from worker_agent.api.versions.old_version import OldVersion
from worker_agent.api.versions.schema_changes import Change

_UNLIMITED: Final = {"minLength": None}

OLD_VERSION: Final = OldVersion(
    ADMISSION_CHECKS,
    changes=(
        Change(
            "spec",
            fields={
                "retryDelayMinutes": {
                    "type": "integer",
                    "format": "int64",
                    "default": 15,
                    "description": "Not read any more.",
                }
            },
        ),
        Change("spec.controllerName", keywords={"minLength": None, "maxLength": None}),
        *(Change(f"spec.parameters.{name}", keywords=_UNLIMITED) for name in ("apiGroup", "kind", "name")),
        Change("status.conditions", keywords={"maxItems": None}),
    ),
)

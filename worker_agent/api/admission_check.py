"""AdmissionCheck: a condition beside quota that a controller of its own decides (cluster-scoped)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Conditions, Object, View
from worker_agent.api.resource_type import ADMISSION_CHECKS
from worker_agent.api.schema import DNS_LABEL, IMMUTABLE, Crd, Field, SubdomainName


class AdmissionCheckParameters(View):
    """Names an object with settings that only the check's controller reads."""

    api_group: Annotated[SubdomainName, Field("API group of the object.", required=True, min_length=1)] = ""
    kind: Annotated[
        str,
        Field(
            "Kind of the object.",
            required=True,
            min_length=1,
            max_length=63,
            pattern=r"^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$",
        ),
    ] = ""
    name: Annotated[
        str, Field("Name of the object.", required=True, min_length=1, max_length=63, pattern=DNS_LABEL)
    ] = ""


class AdmissionCheckSpec(View):
    controller_name: Annotated[
        str,
        Field(
            "Which controller decides this check, e.g. kueue.x-k8s.io/multikueue. Cannot be changed.",
            required=True,
            min_length=1,
            max_length=253,
            rules=(IMMUTABLE,),
        ),
    ] = ""
    parameters: Annotated[
        AdmissionCheckParameters | None, Field("Where the controller finds the settings of this check.")
    ] = None


class AdmissionCheckStatus(View):
    conditions: Annotated[Conditions, Field("Active tells whether the controller is ready to decide.")] = None


class AdmissionCheck(Object):
    """A condition beside quota that must be met before a workload of a queue starts."""

    crd: ClassVar[Crd | None] = Crd(ADMISSION_CHECKS, short_names=("ac",), status=True)

    spec: Annotated[AdmissionCheckSpec, Field("Which controller decides, and with which settings.")] = msgspec.field(
        default_factory=AdmissionCheckSpec
    )
    status: Annotated[AdmissionCheckStatus, Field("What the controller says of the check itself.")] = msgspec.field(
        default_factory=AdmissionCheckStatus
    )

"""AdmissionCheck: a condition beside quota that a controller of its own decides (cluster-scoped)."""

import msgspec

from worker_agent.api.meta import Condition, Object, View


class AdmissionCheckParameters(View):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(View):
    controller_name: str = ""
    parameters: AdmissionCheckParameters | None = None


class AdmissionCheckStatus(View):
    conditions: list[Condition] | None = None


class AdmissionCheck(Object):
    spec: AdmissionCheckSpec = msgspec.field(default_factory=AdmissionCheckSpec)
    status: AdmissionCheckStatus = msgspec.field(default_factory=AdmissionCheckStatus)

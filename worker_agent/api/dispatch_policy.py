"""DispatchPolicy: how the hub chooses among clusters that can take a workload (cluster-scoped, on the manager)."""

import msgspec

from worker_agent.api.meta import Object, View


class RegionPreference(View):
    allowed: list[str] | None = None
    preferred: list[str] | None = None


class DispatchPolicySpec(View):
    strategy: str = "Fastest"
    regions: RegionPreference | None = None
    data_locality_label: str = ""
    moving_weight: int = 0
    on_contact_lost: str = "Keep"


class DispatchPolicy(Object):
    spec: DispatchPolicySpec = msgspec.field(default_factory=DispatchPolicySpec)

"""ProvisioningRequestConfig: how an AdmissionCheck asks an autoscaler for room (cluster-scoped)."""

import msgspec

from worker_agent.api.meta import Object, View


class ProvisioningRequestRetryStrategy(View):
    backoff_limit_count: int = 3
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 1800


class PodSetUpdatesNodeSelector(View):
    key: str
    value_from_provisioning_class_detail: str = ""


class ProvisioningRequestPodSetUpdates(View):
    node_selector: list[PodSetUpdatesNodeSelector] | None = None


class ProvisioningRequestConfigSpec(View):
    provisioning_class_name: str = ""
    parameters: dict[str, str] | None = None
    managed_resources: list[str] | None = None
    retry_strategy: ProvisioningRequestRetryStrategy | None = None
    pod_set_updates: ProvisioningRequestPodSetUpdates | None = None
    pod_set_merge_policy: str | None = None


class ProvisioningRequestConfig(Object):
    spec: ProvisioningRequestConfigSpec = msgspec.field(default_factory=ProvisioningRequestConfigSpec)

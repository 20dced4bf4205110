"""MultiKueueCluster and MultiKueueConfig: the workers of a federation and the sets of them a queue may use."""

import msgspec

from worker_agent.api.meta import Condition, Object, View


class KubeConfigSource(View):
    location: str = ""
    location_type: str = "Secret"


class ClusterProfileReference(View):
    name: str = ""


class AgentSource(View):
    """Ours: the worker's agent dials the hub (DESIGN section 7)."""

    name: str = ""


class ClusterSource(View):
    kube_config: KubeConfigSource | None = None
    cluster_profile_ref: ClusterProfileReference | None = None
    agent: AgentSource | None = None


class MultiKueueClusterSpec(View):
    cluster_source: ClusterSource = msgspec.field(default_factory=ClusterSource)


class MultiKueueClusterStatus(View):
    conditions: list[Condition] | None = None


class MultiKueueCluster(Object):
    spec: MultiKueueClusterSpec = msgspec.field(default_factory=MultiKueueClusterSpec)
    status: MultiKueueClusterStatus = msgspec.field(default_factory=MultiKueueClusterStatus)


class MultiKueueConfigSpec(View):
    clusters: list[str] = []
    quota_management: str | None = None


class MultiKueueConfig(Object):
    spec: MultiKueueConfigSpec = msgspec.field(default_factory=MultiKueueConfigSpec)

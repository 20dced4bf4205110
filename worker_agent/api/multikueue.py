"""MultiKueueCluster and MultiKueueConfig: the workers of a federation and the sets of them a queue may use."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Conditions, Object, View
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS
from worker_agent.api.schema import AGE, ClusterName, Column, Crd, Field, Rule

MAX_CLUSTERS = 64
"""Workers of one config. Kueue takes 20: towards workers that run it, their own bound stays (DESIGN section 4)."""


class KubeConfigSource(View):
    """A kubeconfig with which the hub reaches the worker."""

    location: Annotated[
        str,
        Field(
            "Name of a Secret in the hub's namespace (key kubeconfig), or a path in the hub's file system.",
            required=True,
            min_length=1,
            max_length=256,
        ),
    ] = ""
    location_type: Annotated[str, Field("What the location is.", enum=("Secret", "Path"), default="Secret")] = "Secret"


class ClusterProfileReference(View):
    """A ClusterProfile from which the hub takes address and credentials."""

    name: Annotated[
        str, Field("Name of the ClusterProfile in the hub's namespace.", required=True, min_length=1, max_length=256)
    ] = ""


class AgentSource(View):
    """The worker's agent dials the hub; the hub holds no credential of that cluster."""

    name: Annotated[
        str, Field("The name under which the agent enrolled.", required=True, min_length=1, max_length=256)
    ] = ""


class ClusterSource(View):
    """How the hub reaches the worker."""

    schema = Field(
        rules=(
            Rule(
                "[has(self.kubeConfig),has(self.clusterProfileRef),has(self.agent)].filter(x,x==true).size() == 1",
                "exactly one of the fields in [kubeConfig clusterProfileRef agent] must be set",
            ),
        )
    )

    kube_config: Annotated[KubeConfigSource | None, Field("By a kubeconfig.")] = None
    cluster_profile_ref: Annotated[ClusterProfileReference | None, Field("By a ClusterProfile.")] = None
    agent: Annotated[AgentSource | None, Field("Through the connection that the worker's agent opened.")] = None


class MultiKueueClusterSpec(View):
    cluster_source: Annotated[ClusterSource, Field("How the hub reaches the worker.", required=True)] = msgspec.field(
        default_factory=ClusterSource
    )


class MultiKueueClusterStatus(View):
    conditions: Annotated[Conditions, Field("Active tells whether the worker is connected, and why not.")] = None


class MultiKueueCluster(Object):
    """A worker cluster, as its manager knows it."""

    crd: ClassVar[Crd | None] = Crd(
        MULTIKUEUE_CLUSTERS,
        short_names=("mkc",),
        columns=(
            Column("Connected", "string", ".status.conditions[?(@.type=='Active')].status", "Whether it is connected"),
            AGE,
        ),
        status=True,
    )

    spec: Annotated[MultiKueueClusterSpec, Field("How it is reached.")] = msgspec.field(
        default_factory=MultiKueueClusterSpec
    )
    status: Annotated[MultiKueueClusterStatus, Field("Whether it is connected.")] = msgspec.field(
        default_factory=MultiKueueClusterStatus
    )


class MultiKueueConfigSpec(View):
    clusters: Annotated[
        list[ClusterName],
        Field(
            "Names of MultiKueueClusters; the order counts for dispatchers that go by it.",
            required=True,
            min_items=1,
            max_items=MAX_CLUSTERS,
            list_type="atomic",
            rules=(Rule("size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0", "must be unique"),),
        ),
    ] = []
    quota_management: Annotated[
        str | None,
        Field(
            "Automated: the manager's quota follows that of the workers. Absent is Manual.",
            enum=("Manual", "Automated"),
        ),
    ] = None


class MultiKueueConfig(Object):
    """The workers that a queue may use."""

    crd: ClassVar[Crd | None] = Crd(MULTIKUEUE_CONFIGS, short_names=("mkconf",))

    spec: Annotated[MultiKueueConfigSpec, Field("The workers.")] = msgspec.field(default_factory=MultiKueueConfigSpec)

"""DispatchPolicy: how the hub chooses among clusters that can take a workload (cluster-scoped, on the manager)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Object, View
from worker_agent.api.resource_type import DISPATCH_POLICIES
from worker_agent.api.schema import AGE, QUALIFIED_NAME, Column, Crd, Field, Int32, Rule

STRATEGIES = ("Fastest", "Spread", "Pack", "Cheapest")

_Region = Annotated[str, Field(min_length=1, max_length=63)]


class RegionPreference(View):
    """Regions, as the label topology.kubernetes.io/region of MultiKueueClusters names them."""

    allowed: Annotated[
        list[_Region] | None,
        Field("Only clusters of these regions are used; empty is all.", max_items=64, list_type="set"),
    ] = None
    preferred: Annotated[
        list[_Region] | None,
        Field(
            "Among clusters that are equally good, those of an earlier region win.",
            max_items=64,
            list_type="atomic",
            rules=(Rule("size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0", "must be unique"),),
        ),
    ] = None


class DispatchPolicySpec(View):
    strategy: Annotated[
        str,
        Field(
            "Fastest: where it starts soonest. Spread: where most is free. Pack: where least is left. "
            "Cheapest: where it costs least.",
            enum=STRATEGIES,
            default="Fastest",
        ),
    ] = "Fastest"
    regions: Annotated[RegionPreference | None, Field("Which regions may be used, and which are better.")] = None
    data_locality_label: Annotated[
        str,
        Field(
            "A label of workloads and of MultiKueueClusters: equal values mean that the data is near.",
            max_length=317,
            pattern=QUALIFIED_NAME,
        ),
    ] = ""
    moving_weight: Annotated[
        Int32,
        Field(
            "How much better another cluster must be before a waiting workload moves there, in percent.",
            minimum=0,
            default=0,
        ),
    ] = 0
    provisioning_clusters: Annotated[
        Int32,
        Field(
            "Where nodes have to be made for a workload first (its queue there has a ProvisioningRequest check), so "
            "many clusters are asked at once; the first to have them gets the workload, the others are told off.",
            minimum=1,
            default=2,
        ),
    ] = 2
    on_contact_lost: Annotated[
        str,
        Field(
            "Keep: remote work goes on and is not started again before contact or declare-lost. Stop: the agent stops "
            "it when the hub's lease lapses, and the hub starts it elsewhere.",
            enum=("Keep", "Stop"),
            default="Keep",
        ),
    ] = "Keep"


class DispatchPolicy(Object):
    """How the hub chooses among clusters. A ClusterQueue names its policy by annotation, else it is ``default``."""

    crd: ClassVar[Crd | None] = Crd(
        DISPATCH_POLICIES,
        short_names=("dp",),
        columns=(
            Column("Strategy", "string", ".spec.strategy", "How it chooses"),
            Column("On Contact Lost", "string", ".spec.onContactLost", "What happens without contact"),
            AGE,
        ),
    )

    spec: Annotated[DispatchPolicySpec, Field("How it chooses.")] = msgspec.field(default_factory=DispatchPolicySpec)

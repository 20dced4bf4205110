"""ResourceFlavor: the nodes a quota stands for (cluster-scoped)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Object, View
from worker_agent.api.pod import TAINT_RULES, TOLERATION_RULES, Taint, Toleration
from worker_agent.api.resource_type import RESOURCE_FLAVORS
from worker_agent.api.schema import Crd, Field, Rule, SubdomainName


class ResourceFlavorSpec(View):
    schema = Field(
        rules=(
            Rule(
                "!has(self.topologyName) || self.nodeLabels.size() >= 1",
                "at least one nodeLabel is required when topology is set",
            ),
            Rule(
                "!has(oldSelf.topologyName) || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
                "topologyName is immutable when topologyName is set",
            ),
        )
    )

    node_labels: Annotated[
        dict[str, str] | None,
        Field(
            "Labels of the nodes. They are matched against a pod's node selector and added to it at start.",
            max_properties=8,
            map_type="atomic",
        ),
    ] = None
    node_taints: Annotated[
        list[Taint] | None,
        Field(
            "Taints of the nodes: only pods that tolerate them get this flavor.",
            max_items=8,
            list_type="atomic",
            rules=TAINT_RULES,
        ),
    ] = None
    tolerations: Annotated[
        list[Toleration] | None,
        Field(
            "Tolerations added to every pod that gets this flavor.",
            max_items=8,
            list_type="atomic",
            rules=TOLERATION_RULES,
        ),
    ] = None
    topology_name: Annotated[
        SubdomainName | None, Field("The Topology in which pods of this flavor are placed. Cannot be changed.")
    ] = None


class ResourceFlavor(Object):
    """The nodes that a quota stands for."""

    crd: ClassVar[Crd | None] = Crd(RESOURCE_FLAVORS, short_names=("flavor", "flavors", "rf"))

    spec: Annotated[ResourceFlavorSpec, Field("Which nodes, and how pods get there.")] = msgspec.field(
        default_factory=ResourceFlavorSpec
    )

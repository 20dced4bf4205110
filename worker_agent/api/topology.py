"""Topology: the levels of a cluster's network, from the widest to the narrowest (cluster-scoped)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Object, View
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.resource_type import TOPOLOGIES
from worker_agent.api.schema import QUALIFIED_NAME, Crd, Field, Rule

_LOWEST = "self[size(self) - 1].nodeLabel"
LEVEL_RULES = (
    Rule(
        "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0",
        "must be unique",
    ),
    Rule(
        f"size(self.filter(i, i.nodeLabel == '{HOSTNAME_LABEL}')) == 0 || {_LOWEST} == '{HOSTNAME_LABEL}'",
        f"the {HOSTNAME_LABEL} label can only be used at the lowest level of topology",
    ),
    Rule(
        f"self == oldSelf || ({_LOWEST} == '{HOSTNAME_LABEL}' && "
        f"oldSelf[size(oldSelf) - 1].nodeLabel == '{HOSTNAME_LABEL}')",
        f"levels are mutable only when {HOSTNAME_LABEL} is the lowest level both before and after the change",
    ),
)


class TopologyLevel(View):
    """One level of the network."""

    node_label: Annotated[
        str,
        Field(
            "Nodes with the same value of this label, and of the labels above, are one domain.",
            required=True,
            min_length=1,
            max_length=316,
            pattern=QUALIFIED_NAME,
        ),
    ]


class TopologySpec(View):
    levels: Annotated[
        list[TopologyLevel],
        Field(
            "From the widest (e.g. a data hall) to the narrowest (e.g. a host).",
            required=True,
            min_items=1,
            max_items=16,
            list_type="atomic",
            rules=LEVEL_RULES,
        ),
    ] = []


class Topology(Object):
    """The levels of the network between nodes."""

    crd: ClassVar[Crd | None] = Crd(TOPOLOGIES, short_names=("topo",))

    spec: Annotated[TopologySpec, Field("The levels.")] = msgspec.field(default_factory=TopologySpec)

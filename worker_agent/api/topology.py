"""Topology: the levels of a cluster's network, from the widest to the narrowest (cluster-scoped)."""

import msgspec

from worker_agent.api.meta import Object, View


class TopologyLevel(View):
    node_label: str


class TopologySpec(View):
    levels: list[TopologyLevel] = []


class Topology(Object):
    spec: TopologySpec = msgspec.field(default_factory=TopologySpec)

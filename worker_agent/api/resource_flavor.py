"""ResourceFlavor: the nodes a quota stands for (cluster-scoped)."""

import msgspec

from worker_agent.api.meta import Object, View
from worker_agent.api.pod import Taint, Toleration


class ResourceFlavorSpec(View):
    node_labels: dict[str, str] | None = None
    node_taints: list[Taint] | None = None
    tolerations: list[Toleration] | None = None
    topology_name: str | None = None


class ResourceFlavor(Object):
    spec: ResourceFlavorSpec = msgspec.field(default_factory=ResourceFlavorSpec)

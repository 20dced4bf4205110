"""FlavorRow: a ResourceFlavor as the scan uses it, with a memory of which pod shapes match it."""

from weakref import WeakKeyDictionary

from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.engine import selection
from worker_agent.engine.pod_shape import PodShape


class FlavorRow:
    """One version of a ResourceFlavor; a changed object makes a new row, and the memory goes with the old one."""

    __slots__ = ("_matches", "labels", "name", "taints", "tolerations", "topology", "view")

    def __init__(self, view: ResourceFlavor) -> None:
        spec = view.spec
        self.view = view
        self.name: str = view.metadata.name
        self.labels: dict[str, str] = spec.node_labels or {}
        self.taints = tuple(spec.node_taints or ())
        self.tolerations = tuple(spec.tolerations or ())
        self.topology: str = spec.topology_name or ""
        self._matches: WeakKeyDictionary[PodShape, str] = WeakKeyDictionary()

    def mismatch(self, shape: PodShape) -> str:
        """Why pods of this shape cannot run on the flavor's nodes; empty when they can. Raises SelectorError."""
        known = self._matches.get(shape)
        if known is None:
            known = self._matches[shape] = self._judge(shape)
        return known

    def _judge(self, shape: PodShape) -> str:
        taint = selection.untolerated(self.taints, (*(shape.spec.tolerations or ()), *self.tolerations))
        if taint is not None:
            return f"untolerated taint {selection.taint_text(taint)} in flavor {self.name}"
        if not selection.matches_nodes(shape.spec, self.labels, known=self.labels):
            return f"flavor {self.name} doesn't match node affinity"
        return ""

    def same_nodes(self, other: "FlavorRow") -> bool:
        """Whether both stand for the same nodes and let the same pods on them."""
        return (self.labels, self.taints, self.tolerations) == (other.labels, other.taints, other.tolerations)

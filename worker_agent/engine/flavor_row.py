"""FlavorRow: a ResourceFlavor as the scan uses it, with a memory of which pod shapes match it."""

from typing import Final

from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.engine import selection
from worker_agent.engine.pod_shape import PodShape

MOST_SHAPES: Final = 10_000
"""Remembered at a time; shapes come and go with their workloads."""


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
        self._matches: dict[int, str] = {}

    def mismatch(self, shape: PodShape) -> str:
        """Why pods of this shape cannot run on the flavor's nodes; empty when they can. Raises SelectorError."""
        known = self._matches.get(shape.number)
        if known is None:
            if len(self._matches) == MOST_SHAPES:
                self._matches.clear()
            known = self._matches[shape.number] = self._judge(shape)
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

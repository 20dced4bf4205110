"""What the supervisor of a local federation tells each cluster, be it the embedded API server or a real control plane.

Both are started with it (``cluster_process``, ``real.cluster_process``), and neither loads the other's modules for it.
"""

import msgspec

from hub.local.simulation.cluster import ALL_PARTS, JOB_KINDS, Part
from hub.local.simulation.operators import definitions
from hub.local.simulation.shape import ClusterShape
from worker_agent.api import crds
from worker_agent.api.document import Document


class Configuration(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What the supervisor tells a cluster: its name, where it listens, where it keeps its things, its nodes."""

    name: str
    port: int
    data_directory: str
    persistent: bool = False
    audit: bool = False
    """Real control planes write each write request to ``<data directory>/audit.log``; the embedded one counts them."""
    audit_programs: bool = False
    """Those write each request of hub and agents there."""
    node_groups: list[dict[str, object]] = []
    autoscaler: dict[str, float] | None = None
    job_kinds: bool = False

    @property
    def definitions(self) -> tuple[Document, ...]:
        """What the cluster's API server serves beside the kinds of Kubernetes."""
        ours = crds.with_autoscaler() if self.autoscaler is not None else crds.documents()
        return (*ours, *definitions.documents()) if self.job_kinds else ours

    @property
    def parts(self) -> frozenset[Part]:
        """What of the cluster is played."""
        return ALL_PARTS | JOB_KINDS if self.job_kinds else ALL_PARTS

    @property
    def shape(self) -> ClusterShape:
        """Raises ShapeError."""
        return ClusterShape.from_documents(self.node_groups, self.autoscaler)

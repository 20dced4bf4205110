"""The pod sets of a component that declares none, told from its kind (spec/jobs 9.9)."""

from typing import Final

from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import JobKind, TemplateAt
from worker_agent.api.topology_request import PodIndex
from worker_agent.jobs.batch_job import BatchJob
from worker_agent.jobs.job_set import JobSet
from worker_agent.jobs.pytorch_job import PyTorchJob
from worker_agent.jobs.ray_cluster import RayCluster
from worker_agent.jobs.ray_job import RayJob

_KINDS: Final[dict[tuple[str, str], JobKind]] = {
    (kind.resource.api_version, kind.resource.kind): kind
    for kind in (BatchJob(), JobSet(), PyTorchJob(), RayCluster(), RayJob())
}
_REPLICATED: Final = (("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))


def pod_sets_of(component: Document) -> list[TemplateAt]:
    """The templates of the wrapped object; none for a kind that is not known to make pods."""
    gvk = (component.get("apiVersion", ""), component.get("kind", ""))
    if gvk == ("v1", "Pod"):
        return [TemplateAt("main", (), 1)]
    if gvk in _REPLICATED:
        return [TemplateAt("main", ("spec", "template"), get(component, "spec.replicas", 1))]
    kind = _KINDS.get(gvk)
    if kind is None:
        return []
    spots = [spot for spot in kind.templates(component) if spot.name != "submitter"]
    return [
        TemplateAt(spot.name, spot.path, spot.count, index=spot.index or PodIndex(kind.rank_label)) for spot in spots
    ]

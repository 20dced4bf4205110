"""Objects of a local federation: applying manifests, registering workers, asking what is not Active yet."""

import base64
from typing import Any

import msgspec

from hub.local.spec import Cluster
from worker_agent.api import resource_type
from worker_agent.api.document import Document
from worker_agent.api.meta import Condition, Object, View
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client

FIELD_MANAGER = "fedhub-up"
SYSTEM_NAMESPACE = "kueue-system"

_BY_KIND = {
    (found.api_version, found.kind): found for found in vars(resource_type).values() if isinstance(found, ResourceType)
}


class _Status(View):
    conditions: list[Condition] | None = None


class _Conditioned(Object):
    status: _Status = msgspec.field(default_factory=_Status)


def resource_of(document: Document) -> ResourceType:
    """Where the kind of ``document`` lives. Raises ValueError for a kind this program does not know."""
    found = _BY_KIND.get((document.get("apiVersion", ""), document.get("kind", "")))
    if found is None:
        raise ValueError(f"unknown kind {document.get('kind')} of {document.get('apiVersion')}")
    return found


async def apply(client: Client, documents: list[Document]) -> None:
    """Server-side applies ``documents`` in their order; namespaces and definitions stand before what needs them."""
    for document in documents:
        resource, metadata = resource_of(document), document["metadata"]
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        await client.apply(resource, metadata["name"], namespace, document, field_manager=FIELD_MANAGER)


async def inactive(client: Client, resource: ResourceType) -> list[str]:
    """Names of the objects of ``resource`` whose condition Active is not True."""
    page = await client.list(resource)
    found = [msgspec.json.decode(item, type=_Conditioned) for item in page.items]
    return [item.metadata.name for item in found if not _is_active(item)]


def _is_active(item: _Conditioned) -> bool:
    return any(condition.type == "Active" and condition.is_true for condition in item.status.conditions or ())


def system() -> list[Document]:
    """What every cluster has before its agent's manifests: the agent's own namespace."""
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}]


def registration(worker: Cluster, kubeconfig: str) -> list[Document]:
    """The MultiKueueCluster by which a manager knows ``worker``, with its Secret where it is reached by one."""
    if worker.source == "agent":
        return [_cluster(worker, {"agent": {"name": worker.name}})]
    secret = f"{worker.name}-kubeconfig"
    data: dict[str, Any] = {"kubeconfig": base64.b64encode(kubeconfig.encode()).decode()}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret, "namespace": SYSTEM_NAMESPACE},
            "data": data,
        },
        _cluster(worker, {"kubeConfig": {"location": secret, "locationType": "Secret"}}),
    ]


def _cluster(worker: Cluster, source: Document) -> Document:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": {"name": worker.name, "labels": worker.labels},
        "spec": {"clusterSource": source},
    }

"""The CustomResourceDefinition of every kind, made from the typed views: for manifests/crds and the embedded server.

Kueue's kinds are served in the version before, too (``versions``); where objects differ, ``CONVERSION`` names the
agent's webhook. A program that answers somewhere else puts its own address there when it starts.
"""

from functools import cache
from typing import Final

from worker_agent.api import structural_schema
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.dispatch_policy import DispatchPolicy
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Object
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.provisioning_request import ProvisioningRequest
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import KUEUE
from worker_agent.api.schema import Column, Crd
from worker_agent.api.topology import Topology
from worker_agent.api.versions import schema_changes
from worker_agent.api.versions.kinds import OLD_VERSIONS
from worker_agent.api.versions.old_version import V1BETA1, WARNING, OldVersion
from worker_agent.api.workload import Workload
from worker_agent.api.workload_priority_class import WorkloadPriorityClass

KINDS: Final[tuple[type[Object], ...]] = (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
    ClusterCapacity,
    DispatchPolicy,
)

CONVERT_PATH: Final = "/convert"
CONVERSION: Final[Document] = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {
            "service": {
                "namespace": "fedhub-system",
                "name": "fedhub-agent-webhook",
                "path": CONVERT_PATH,
                "port": 443,
            }
        },
        "conversionReviewVersions": ["v1"],
    },
}
"""Who converts, as the manifests of an agent install it."""

_ROOT: Final[Document] = {
    "apiVersion": {"type": "string", "description": "Group and version of this representation."},
    "kind": {"type": "string", "description": "Kind of the object."},
    "metadata": {"type": "object"},
}


@cache
def documents() -> tuple[Document, ...]:
    """One definition per kind, in the order of ``KINDS``. Treat them as frozen."""
    return tuple(document(kind) for kind in KINDS)


@cache
def with_autoscaler() -> tuple[Document, ...]:
    """Those, and the definition that an autoscaler's own installation brings: for clusters of our own making."""
    return (*documents(), document(ProvisioningRequest))


def document(kind: type[Object]) -> Document:
    """The definition of one kind."""
    crd = kind.crd
    if crd is None:
        raise TypeError(f"{kind.__name__} is defined by Kubernetes itself")
    resource = crd.resource
    old = OLD_VERSIONS.get(resource.kind) if resource.group == KUEUE else None
    converted = old is not None and old.rewrites is not None
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                **({"shortNames": list(crd.short_names)} if crd.short_names else {}),
            },
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            **({"conversion": CONVERSION} if converted else {}),
            "versions": _versions(kind, crd, old),
        },
    }


def _versions(kind: type[Object], crd: Crd, old: OldVersion | None) -> list[Document]:
    today = _version(kind, crd)
    return [today] if old is None else [_older(today, old), today]


def _older(today: Document, old: OldVersion) -> Document:
    """The version before, from today's."""
    moved = dict(old.columns)
    version: Document = {
        **today,
        "name": V1BETA1,
        "storage": False,
        "schema": {"openAPIV3Schema": schema_changes.changed(today["schema"]["openAPIV3Schema"], old.changes)},
    }
    if old.deprecated:
        version |= {"deprecated": True, "deprecationWarning": WARNING}
    if moved:
        columns = today["additionalPrinterColumns"]
        version["additionalPrinterColumns"] = [
            {**column, "jsonPath": moved.get(column["jsonPath"], column["jsonPath"])} for column in columns
        ]
    if not old.selectable:
        del version["selectableFields"]
    return version


def _version(kind: type[Object], crd: Crd) -> Document:
    schema = structural_schema.of_view(kind)
    schema["properties"] = dict(sorted({**schema["properties"], **_ROOT}.items()))
    version: Document = {
        "name": crd.resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if crd.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in crd.columns]
    if crd.status:
        version["subresources"] = {"status": {}}
    if crd.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in crd.selectable_fields]
    return version


def _column(column: Column) -> Document:
    shown: Document = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.json_path,
        "description": column.doc,
    }
    if column.priority:
        shown["priority"] = column.priority
    return shown

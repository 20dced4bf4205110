"""MultiKueueCluster in v1beta1: the ways to reach a cluster side by side, a kubeconfig among them in any case."""

from typing import Final

from worker_agent.api import structural_schema
from worker_agent.api.document import Document
from worker_agent.api.multikueue import ClusterProfileReference
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS
from worker_agent.api.versions.fields import within, without
from worker_agent.api.versions.old_version import OldVersion, Rewrites
from worker_agent.api.versions.schema_changes import Change

_NO_KUBECONFIG: Final = {"location": "", "locationType": "Secret"}
"""What v1beta1 demands where the cluster is reached in another way."""


def _spec_to_v1beta2(spec: Document) -> Document:
    source: Document = {}
    if (spec.get("kubeConfig") or {}).get("location"):
        source["kubeConfig"] = spec["kubeConfig"]
    if spec.get("clusterProfileRef") is not None:
        source["clusterProfileRef"] = spec["clusterProfileRef"]
    return {**without(spec, "kubeConfig", "clusterProfileRef", "clusterSource"), "clusterSource": source}


def _spec_to_v1beta1(spec: Document) -> Document:
    source = spec.get("clusterSource") or {}
    old: Document = {"kubeConfig": source.get("kubeConfig") or _NO_KUBECONFIG}
    if source.get("clusterProfileRef") is not None:
        old["clusterProfileRef"] = source["clusterProfileRef"]
    return {**without(spec, "clusterSource", "kubeConfig", "clusterProfileRef"), **old}


OLD_VERSION: Final = OldVersion(
    MULTIKUEUE_CLUSTERS,
    changes=(
        Change(
            "spec",
            fields={
                "clusterSource": None,
                "clusterProfileRef": structural_schema.of_view(ClusterProfileReference),
                "kubeConfig": {
                    "type": "object",
                    "description": "A kubeconfig with which the hub reaches the worker; no location: it does not.",
                    "required": ["location", "locationType"],
                    "properties": {
                        "location": {
                            "type": "string",
                            "description": "Name of a Secret in the hub's namespace (key kubeconfig), or a path in "
                            "the hub's file system.",
                        },
                        "locationType": {
                            "type": "string",
                            "description": "What the location is.",
                            "enum": ["Secret", "Path"],
                            "default": "Secret",
                        },
                    },
                },
            },
            keywords={"required": ["kubeConfig"]},
        ),
        Change("status.conditions", keywords={"maxItems": None}),
    ),
    rewrites=Rewrites(
        lambda document: within(document, "spec", _spec_to_v1beta2),
        lambda document: within(document, "spec", _spec_to_v1beta1),
    ),
)

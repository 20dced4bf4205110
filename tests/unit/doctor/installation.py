"""A healthy installation as ``fedhub doctor`` reads it, to be broken by tests."""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec

from hub.app.doctor import examination
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import ENDPOINT_SLICES, Role, Snapshot
from worker_agent.aggregated.registration import API_SERVICES, SERVICES
from worker_agent.api import crds, program_version, timestamps
from worker_agent.api import resource_type as kinds
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.webhooks import certificates

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NAMESPACE = "fedhub-system"
EARLIER = timestamps.rfc3339(NOW - timedelta(hours=1))


@cache
def bundle(days_ago: int = 0) -> certificates.Bundle:
    return certificates.create(["fedhub-agent-webhook.fedhub-system.svc"], NOW - timedelta(days=days_ago))


def secret(made: certificates.Bundle) -> Document:
    return {"metadata": {"name": "fedhub-agent-webhook-cert"}, "data": made.secret_data()}


def condition(type_: str, status: str = "True", reason: str = "Ready", message: str = "") -> Document:
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": EARLIER}


def named(resource: ResourceType, name: str, namespace: str = "", **fields: Any) -> Document:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}


def definitions(ca: str) -> list[Document]:
    found = []
    for each in crds.documents():
        copy = msgspec.json.decode(msgspec.json.encode(each))
        if "conversion" in copy["spec"]:
            copy["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = ca
        stored = [each["name"] for each in copy["spec"]["versions"] if each["storage"]]
        copy["status"] = {
            "conditions": [condition("Established"), condition("NamesAccepted")],
            "storedVersions": stored,
        }
        found.append(copy)
    return found


@dataclass
class Installation:
    """``role`` decides what is looked at; the objects are those of either."""

    role: Role = Role.AGENT
    objects: dict[ResourceType, list[Document]] = field(default_factory=dict)
    secrets: dict[str, Document] | None = field(default_factory=dict)
    denied: list[Any] | None = field(default_factory=list)
    clock_error: float = 0.0
    unreadable: dict[ResourceType, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ca = base64.b64encode(bundle().ca_certificate).decode()
        service = {"name": "fedhub-agent-webhook", "namespace": NAMESPACE, "path": "/x", "port": 443}
        hooks = [{"name": "h", "clientConfig": {"service": service, "caBundle": ca}}]
        program = "fedhub-hub" if self.role is Role.HUB else "fedhub-agent"
        lease = {"holderIdentity": "a", "renewTime": timestamps.rfc3339(NOW), "leaseDurationSeconds": 15}
        slices = {"kubernetes.io/service-name": "fedhub-agent-webhook"}
        report = {"agentVersion": program_version.VERSION, "engineVersion": "fedhub-1"}
        put = self.put
        self.objects[kinds.CUSTOM_RESOURCE_DEFINITIONS] = definitions(ca)
        put(kinds.MUTATING_WEBHOOKS, "fedhub-agent-mutating-webhook-configuration", webhooks=hooks)
        put(kinds.VALIDATING_WEBHOOKS, "fedhub-agent-validating-webhook-configuration", webhooks=hooks)
        put(SERVICES, "fedhub-agent-webhook", NAMESPACE)
        endpoints = [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]
        put(ENDPOINT_SLICES, "fedhub-agent-webhook-x", NAMESPACE, metadata={"labels": slices}, endpoints=endpoints)
        put(kinds.DEPLOYMENTS, program, NAMESPACE, spec={"replicas": 2}, status={"availableReplicas": 2})
        put(kinds.LEASES, "c1f6bfd2.kueue.x-k8s.io", NAMESPACE, spec=lease)
        for version in ("v1beta1", "v1beta2"):
            spec = {"group": "visibility.kueue.x-k8s.io", "version": version}
            status = {"conditions": [condition("Available", reason="Passed")]}
            put(API_SERVICES, f"{version}.visibility.kueue.x-k8s.io", spec=spec, status=status)
        active = {"conditions": [condition("Active")]}
        put(kinds.CLUSTER_QUEUES, "research", spec={}, status=active)
        put(kinds.LOCAL_QUEUES, "team", "ns", spec={"clusterQueue": "research"}, status=active)
        put(kinds.RESOURCE_FLAVORS, "spot", spec={"nodeLabels": {"pool": "spot"}})
        put(kinds.NODES, "n1", metadata={"labels": {"pool": "spot"}})
        put(kinds.CLUSTER_CAPACITIES, "this", status=report)
        source = {"kubeConfig": {"location": "oregon", "locationType": "Secret"}}
        fenced = {"conditions": [condition("Active"), condition("Fenced")]}
        put(kinds.MULTIKUEUE_CLUSTERS, "oregon", spec={"clusterSource": source}, status=fenced)
        put(kinds.MULTIKUEUE_CONFIGS, "all", spec={"clusters": ["oregon"]})
        self.secrets = {"fedhub-agent-webhook-cert": secret(bundle()), "oregon": kubeconfig_secret(KUBECONFIG)}

    def put(self, resource: ResourceType, name: str, namespace: str = "", **fields: Any) -> None:
        """Adds an object, in place of one of that name."""
        kept = [
            each
            for each in self.objects.get(resource, [])
            if (each["metadata"].get("namespace", ""), each["metadata"]["name"]) != (namespace, name)
        ]
        self.objects[resource] = [*kept, named(resource, name, namespace, **fields)]

    def the(self, resource: ResourceType, name: str) -> Document:
        return next(each for each in self.objects[resource] if each["metadata"]["name"] == name)

    def findings(self) -> list[Finding]:
        return [each for result in self.results() for each in result.findings]

    def results(self) -> list[examination.Result]:
        snapshot = Snapshot("oregon", self.role, NAMESPACE, NOW, self.clock_error, self.objects, self.unreadable)
        snapshot.secrets, snapshot.denied = self.secrets, self.denied
        return examination.examine(snapshot, "ask with another credential")


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://oregon:6443"}}]
users: [{name: u, user: {token: t}}]
"""


def kubeconfig_secret(text: str) -> Document:
    return {"metadata": {"name": "oregon"}, "data": {"kubeconfig": base64.b64encode(text.encode()).decode()}}

"""The two webhook configurations, made from the list of what is served (spec/operations 9), and their installation.

Elsewhere they come with the manifests and only the CA is put in; in local mode (``Endpoint`` with a URL) the agent
installs them itself.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import msgspec

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.resource_type import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound

CREATE: Final = ("CREATE",)
CREATE_UPDATE: Final = ("CREATE", "UPDATE")
FIELD_MANAGER: Final = "kueue-webhook-configuration"
TIMEOUT_SECONDS: Final = 10


INSIDE = "the programs of these tests run outside of their clusters, and bring configurations of their own"
NEEDS = tuple(
    found
    for resource, kind in ((MUTATING_WEBHOOKS, "mutating"), (VALIDATING_WEBHOOKS, "validating"))
    for found in (
        need.of(resource, "get", "update", names=(f"{need.PROGRAM}-{kind}-webhook-configuration",), unseen=INSIDE),
        need.of(resource, "get", "create", "patch", outside=True),
    )
)


@dataclass(frozen=True, slots=True)
class Served:
    """One kind behind the webhooks: on which operations it is defaulted and validated (empty: not at all).

    ``of_jobs``: the hook is limited to the namespaces whose jobs are managed. ``status``: validated there too.
    ``mutated_if`` and ``validated_if`` say in CEL, by name, what has to hold of a write for the API server to ask at
    all: what the hook would leave as it is anyway costs it a request less. They only ever leave out what the rules
    have nothing to say about.
    """

    resource: ResourceType
    mutate: tuple[str, ...] = CREATE
    validate: tuple[str, ...] = CREATE_UPDATE
    of_jobs: bool = False
    status: bool = False
    mutated_if: Mapping[str, str] = field(default_factory=dict)
    validated_if: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.resource.kind.lower()

    def path(self, verb: str) -> str:
        """``/mutate-batch-v1-job``."""
        group = self.resource.group.replace(".", "-")
        return f"/{verb}-{group}-{self.resource.version}-{self.kind}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server finds the webhooks: a base URL, or a Service of the cluster."""

    url: str = ""
    service: str = "kueue-webhook-service"
    namespace: str = "kueue-system"

    @property
    def prefix(self) -> str:
        """First part of the configurations' names: the Service's name without ``-webhook`` or ``-webhook-service``."""
        return self.service.removesuffix("-service").removesuffix("-webhook")

    def client_config(self, path: str, ca_bundle: bytes) -> Document:
        bundle = base64.b64encode(ca_bundle).decode()
        if self.url:
            return {"url": f"{self.url.rstrip('/')}{path}", "caBundle": bundle}
        service = {"name": self.service, "namespace": self.namespace, "path": path, "port": 443}
        return {"service": service, "caBundle": bundle}


@dataclass(frozen=True, slots=True)
class Configurations:
    """Everything the two configurations are made of. ``job_namespaces`` is a LabelSelector document."""

    served: Sequence[Served]
    endpoint: Endpoint
    job_namespaces: Document

    def mutating(self, ca_bundle: bytes) -> Document:
        return self._document(MUTATING_WEBHOOKS, "mutate", ca_bundle)

    def validating(self, ca_bundle: bytes) -> Document:
        return self._document(VALIDATING_WEBHOOKS, "validate", ca_bundle)

    def names(self) -> dict[ResourceType, str]:
        return {
            MUTATING_WEBHOOKS: f"{self.endpoint.prefix}-mutating-webhook-configuration",
            VALIDATING_WEBHOOKS: f"{self.endpoint.prefix}-validating-webhook-configuration",
        }

    def _document(self, resource: ResourceType, verb: str, ca_bundle: bytes) -> Document:
        hooks = [self._webhook(served, verb, ca_bundle) for served in self.served if getattr(served, verb)]
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": self.names()[resource]},
            "webhooks": sorted(hooks, key=lambda hook: str(hook["name"])),
        }

    def _webhook(self, served: Served, verb: str, ca_bundle: bytes) -> Document:
        plural = served.resource.plural
        resources = [plural, f"{plural}/status"] if served.status and verb == "validate" else [plural]
        hook: Document = {
            "name": f"{verb[0]}{served.kind}.kb.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": self.endpoint.client_config(served.path(verb), ca_bundle),
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT_SECONDS,
            "rules": [
                {
                    "apiGroups": [served.resource.group],
                    "apiVersions": [served.resource.version],
                    "operations": list(getattr(served, verb)),
                    "resources": resources,
                }
            ],
        }
        if served.of_jobs:
            hook["namespaceSelector"] = self.job_namespaces
        conditions = served.mutated_if if verb == "mutate" else served.validated_if
        if conditions:
            hook["matchConditions"] = [{"name": name, "expression": text} for name, text in conditions.items()]
        return hook


NOTHING_KNOWN: Final[Mapping[ResourceType, Document | None]] = MappingProxyType({})


async def install(
    client: Client,
    configurations: Configurations,
    ca_bundle: bytes,
    known: Mapping[ResourceType, Document | None] = NOTHING_KNOWN,
) -> None:
    """Make both configurations exist as they should be; nothing is written where they are, and nothing read where a
    watch shows (``known``) that they are."""
    for document in (configurations.mutating(ca_bundle), configurations.validating(ca_bundle)):
        resource = MUTATING_WEBHOOKS if document["kind"] == MUTATING_WEBHOOKS.kind else VALIDATING_WEBHOOKS
        name = document["metadata"]["name"]
        if _stands(known.get(resource), document):
            continue
        if not _stands(await _read(client, resource, name), document):
            await client.apply(resource, name, "", document, field_manager=FIELD_MANAGER)


async def inject(
    client: Client,
    configurations: Configurations,
    ca_bundle: bytes,
    known: Mapping[ResourceType, Document | None] = NOTHING_KNOWN,
) -> None:
    """Put the CA into configurations that the manifests brought; those that do not exist are left to come later.

    What a watch shows (``known``) to have it is not read."""
    bundle = base64.b64encode(ca_bundle).decode()
    for resource, name in configurations.names().items():
        if resource in known and _trusts(known[resource], bundle):
            continue
        present = await _read(client, resource, name)
        if present is None or _trusts(present, bundle):
            continue
        hooks = present.get("webhooks") or []
        changed = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": bundle}} for hook in hooks]
        await client.update(resource, {**present, "webhooks": changed}, field_manager=FIELD_MANAGER)


def _stands(present: Document | None, wanted: Document) -> bool:
    return present is not None and _contains(present.get("webhooks"), wanted["webhooks"])


def _trusts(present: Document | None, bundle: str) -> bool:
    """Whether all hooks that are there have this CA."""
    hooks = (present or {}).get("webhooks") or []
    return all(hook["clientConfig"].get("caBundle") == bundle for hook in hooks)


async def _read(client: Client, resource: ResourceType, name: str) -> Document | None:
    try:
        document: Document = msgspec.json.decode(await client.get(resource, name))
    except NotFound:
        return None
    return document


def _contains(present: Any, wanted: Any) -> bool:
    """Whether ``present`` says all that ``wanted`` says; the server may have added defaults."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(_contains(present.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(present, list)
            and len(present) == len(wanted)
            and all(_contains(found, value) for found, value in zip(present, wanted, strict=True))
        )
    return bool(present == wanted)

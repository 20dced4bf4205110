"""How the API server finds an API of ours: an APIService that names our Service and the CA of its certificate."""

import base64
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, NotFound

API_SERVICES: Final = ResourceType("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)
SERVICES: Final = ResourceType("", "v1", "Service", "services")
FIELD_MANAGER: Final = "fedhub"
HTTPS: Final = 443


KEEP: Final = ("get", "patch", "delete")
"""What is asked of an APIService by its name."""
KEPT: Final = "asked for when the certificate has a new CA, or the manifests brought the APIService"

NEEDS = (
    need.of(API_SERVICES, "create"),
    need.of(SERVICES, "get", place=Place.OWN_NAMESPACE),
    need.of(SERVICES, "create", "patch", outside=True),
)


@dataclass(frozen=True, slots=True)
class Registration:
    """``host`` is where this program is found when it runs outside of the cluster: the Service is then made to point
    there. Without it the Service is part of the installation."""

    group: str
    version: str
    namespace: str
    service: str
    port: int = HTTPS
    host: str = ""

    @property
    def name(self) -> str:
        return f"{self.version}.{self.group}"

    @property
    def server_name(self) -> str:
        """What the certificate must be for."""
        return f"{self.service}.{self.namespace}.svc"

    def api_service(self, ca: bytes | None) -> Document:
        """Without ``ca`` somebody else says whom to trust, or nobody does."""
        return {
            "apiVersion": API_SERVICES.api_version,
            "kind": API_SERVICES.kind,
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "version": self.version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                **({} if ca is None else {"caBundle": base64.b64encode(ca).decode(), "insecureSkipTLSVerify": False}),
                "service": {"namespace": self.namespace, "name": self.service, "port": self.port},
            },
        }

    def external_service(self) -> Document:
        return {
            "apiVersion": "v1",
            "kind": SERVICES.kind,
            "metadata": {"name": self.service, "namespace": self.namespace},
            "spec": {"type": "ExternalName", "externalName": self.host},
        }


async def register(client: Client, registration: Registration, ca: bytes | None) -> None:
    """Brings the APIService, and the Service of a program outside, to what they should be; no write where they are.

    Raises ApiError, ConnectionError.
    """
    if registration.host:
        await _ensure(client, SERVICES, registration.external_service())
    wanted = registration.api_service(ca)
    blind = {"insecureSkipTLSVerify": True} if ca is None else {}
    await _ensure(client, API_SERVICES, wanted, blind)


async def is_installed(client: Client, registration: Registration) -> bool:
    """Whether the Service exists. Raises ApiError, ConnectionError."""
    try:
        await client.get(SERVICES, registration.service, registration.namespace)
    except NotFound:
        return False
    return True


async def unregister(client: Client, registration: Registration) -> None:
    """Deletes the APIService if it leads to our Service; somebody else's stays. Raises ApiError, ConnectionError."""
    try:
        present = msgspec.json.decode(await client.get(API_SERVICES, registration.name))
        service = (present.get("spec") or {}).get("service") or {}
        if (service.get("namespace"), service.get("name")) == (registration.namespace, registration.service):
            await client.delete(API_SERVICES, registration.name, uid=present["metadata"]["uid"])
    except NotFound:
        return


async def _ensure(client: Client, resource: ResourceType, wanted: Document, at_first: Document | None = None) -> None:
    """``at_first``: fields of the spec that count only where the object is made."""
    metadata = wanted["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    try:
        present = msgspec.json.decode(await client.get(resource, name, namespace))
    except NotFound:
        try:
            made = {**wanted, "spec": {**wanted["spec"], **(at_first or {})}}
            await client.create(resource, made, namespace, field_manager=FIELD_MANAGER)
        except AlreadyExists:
            return await _ensure(client, resource, wanted)  # another replica was faster
        return None
    if not _holds(present.get("spec"), wanted["spec"]):
        await client.apply(resource, name, namespace, wanted, field_manager=FIELD_MANAGER)
    return None


def _holds(present: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(_holds(present.get(key), value) for key, value in wanted.items())
    return bool(present == wanted) or (wanted is False and present is None)

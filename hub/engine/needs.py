"""What a job's pods need in their namespace beside quota: the Secrets, ConfigMaps, volumes and accounts they name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import SECRETS, ResourceType

CONFIG_MAPS: Final = ResourceType("", "v1", "ConfigMap", "configmaps")
VOLUME_CLAIMS: Final = ResourceType("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
SERVICE_ACCOUNTS: Final = ResourceType("", "v1", "ServiceAccount", "serviceaccounts")

MISSING_OBJECTS: Final = "MissingObjects"


KIND: Final = "kind"


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """An object without which the pods would hang; what they call optional is none. Or a whole ``KIND``."""

    kind: str
    name: str
    resource: ResourceType


def of_workload(workload: Document) -> tuple[Need, ...]:
    """The needs of all pod sets, each once, by kind and name."""
    found: set[tuple[ResourceType, str]] = set()
    for pod_set in value_at(workload, "spec.podSets", []):
        found.update(_of_pod(value_at(pod_set, "template.spec", {})))
    return tuple(sorted((Need(resource.kind, name, resource) for resource, name in found if name), key=_rank))


def served(resource: ResourceType) -> Need:
    """The kind itself."""
    return Need(KIND, f"{resource.plural}.{resource.group}", resource)


def message(namespace: str, missing: Iterable[Need]) -> str:
    """``namespace train has no Secret "a", ServiceAccount "b"``."""
    return f"namespace {namespace} there has no " + ", ".join(f'{need.kind} "{need.name}"' for need in missing)


def _rank(need: Need) -> tuple[str, str]:
    return need.kind, need.name


def _of_pod(spec: Document) -> Iterator[tuple[ResourceType, str]]:
    # The account called default comes with every namespace, a moment after it.
    account = str(spec.get("serviceAccountName") or "default")
    if account != "default":
        yield SERVICE_ACCOUNTS, account
    for volume in spec.get("volumes") or ():
        yield from _of_volume(volume)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        yield from _of_container(container)


def _of_volume(volume: Document) -> Iterator[tuple[ResourceType, str]]:
    claim = volume.get("persistentVolumeClaim")
    if claim:
        yield VOLUME_CLAIMS, str(claim.get("claimName", ""))
    yield from _named(volume.get("secret"), SECRETS, "secretName")
    yield from _named(volume.get("configMap"), CONFIG_MAPS, "name")
    for source in value_at(volume, "projected.sources", []):
        yield from _named(source.get("secret"), SECRETS, "name")
        yield from _named(source.get("configMap"), CONFIG_MAPS, "name")


def _of_container(container: Document) -> Iterator[tuple[ResourceType, str]]:
    for source in container.get("envFrom") or ():
        yield from _named(source.get("secretRef"), SECRETS, "name")
        yield from _named(source.get("configMapRef"), CONFIG_MAPS, "name")
    for variable in container.get("env") or ():
        origin = variable.get("valueFrom") or {}
        yield from _named(origin.get("secretKeyRef"), SECRETS, "name")
        yield from _named(origin.get("configMapKeyRef"), CONFIG_MAPS, "name")


def _named(reference: Any, resource: ResourceType, field: str) -> Iterator[tuple[ResourceType, str]]:
    if reference and not reference.get("optional"):
        yield resource, str(reference.get(field, ""))

"""The Workload that a manifest would become on the manager if it were submitted now."""

from typing import Any, Final

import msgspec
import yaml

from worker_agent.api import resource_type as kinds
from worker_agent.api import topology_request
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod import PriorityClass
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.workload import Workload
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import job_workload
from worker_agent.engine.job_workload import PriorityClasses, PriorityMissing
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError

UID: Final = "00000000-0000-0000-0000-000000000000"
"""Of the job that does not exist yet."""


class BadManifest(ValueError):
    """The manifest is no job; the text names the field and what would be right."""


def documents(text: str, namespace: str = "") -> list[Document]:
    """The objects of a YAML or JSON text. Raises BadManifest, also where one is of another ``namespace`` than is asked
    for, as kubectl does."""
    try:
        found = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        raise BadManifest(f"not YAML: {error}") from None
    if not found:
        raise BadManifest("holds no object")
    for each in found:
        if not isinstance(each, dict) or not isinstance(each.get("metadata"), dict) or "kind" not in each:
            raise BadManifest("must be an object with apiVersion, kind, metadata and spec")
        if not isinstance(each.get("spec"), dict):
            raise BadManifest(
                f"{kind_of(each).resource.kind} {each['metadata'].get('name', '')}: spec must be an object"
            )
        own = each["metadata"].get("namespace") or namespace
        if namespace and own != namespace:
            raise BadManifest(
                f"{each['kind']} {each['metadata'].get('name', '')}: metadata.namespace is {own}, which is not the"
                f" {namespace} of --namespace; leave the option out, or set it to {own}"
            )
    return found


def kind_of(document: Document) -> JobKind:
    """Raises BadManifest."""
    version, name = document.get("apiVersion"), document.get("kind")
    for kind in KINDS.values():
        if (kind.resource.api_version, kind.resource.kind) == (version, name):
            return kind
    known = ", ".join(sorted(f"{kind.resource.kind} ({kind.resource.api_version})" for kind in KINDS.values()))
    raise BadManifest(f"kind {name!r} of apiVersion {version!r} is no job; jobs are: {known}")


def workload_of(document: Document, namespace: str, policy: JobPolicy, classes: PriorityClasses) -> Document:
    """The Workload for a job manifest; ``namespace`` is used where it names none. Raises BadManifest."""
    kind = kind_of(document)
    if kind.framework not in policy.frameworks:
        raise BadManifest(f"{kind.framework} is not enabled: give a --config whose integrations.frameworks has it")
    metadata = document["metadata"]
    name = metadata.get("name") or f"{metadata.get('generateName') or kind.resource.kind.lower()}what-if"
    submitted = {
        **document,
        "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace, "name": name, "uid": UID},
    }
    try:
        made = job_workload.build(kind, submitted, classes, policy)
        msgspec.json.decode(msgspec.json.encode(made), type=Workload)
    except PriorityMissing as error:
        raise BadManifest(str(error)) from None
    except topology_request.TopologyRequestError as error:
        raise BadManifest(str(error)) from None
    except msgspec.ValidationError as error:
        raise BadManifest(f"{kind.resource.kind} {name}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadManifest(f"{kind.resource.kind} {name}: spec cannot be read: {error!r}") from None
    if not made["spec"]["podSets"]:
        raise BadManifest(f"{kind.resource.kind} {name} makes its workloads from its pods: ask with a pod of it")
    return made


async def priority_classes(client: Client) -> PriorityClasses:
    """Those of the manager; none where they may not be read."""
    return PriorityClasses(
        await _by_name(client, kinds.WORKLOAD_PRIORITY_CLASSES, WorkloadPriorityClass),
        await _by_name(client, kinds.PRIORITY_CLASSES, PriorityClass),
    )


async def _by_name(client: Client, resource: ResourceType, type_: type[Any]) -> dict[str, Any]:
    decode = msgspec.json.Decoder(type_, strict=False).decode
    try:
        found = [decode(raw) for raw in (await client.list(resource)).items]
    except ApiError:
        return {}
    return {each.metadata.name: each for each in found}

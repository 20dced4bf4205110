"""Taking the program out of a cluster: what has to happen before its manifests are deleted, in this order.

Programs stop first: one that still runs would stop the jobs whose Workloads are deleted with their definition. Then
nobody is asked any more about new objects, nothing holds back what is deleted (finalizers of ours go from queues,
flavors, checks, topologies, Workloads and pods), and no controller writes again what goes. Jobs themselves are not
touched. Each step looks at what is there, so the whole may be repeated, also after a deletion that hangs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from worker_agent.aggregated.registration import API_SERVICES
from worker_agent.api import names, resource_type
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    VALIDATING_WEBHOOKS,
    ResourceType,
)
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.errors import Conflict, NotFound
from worker_agent.kube.informer import Event, Informer, document

OURS: Final = "app.kubernetes.io/part-of=fedhub"
"""Label of everything that an installation brings."""
GUARDED: Final[tuple[ResourceType, ...]] = (
    resource_type.WORKLOADS,
    resource_type.LOCAL_QUEUES,
    resource_type.CLUSTER_QUEUES,
    resource_type.COHORTS,
    resource_type.RESOURCE_FLAVORS,
    resource_type.ADMISSION_CHECKS,
    resource_type.TOPOLOGIES,
    resource_type.MULTIKUEUE_CLUSTERS,
    resource_type.MULTIKUEUE_CONFIGS,
    resource_type.PROVISIONING_REQUEST_CONFIGS,
    resource_type.WORKLOAD_PRIORITY_CLASSES,
)
FINALIZERS: Final = frozenset({names.IN_USE_FINALIZER, names.MANAGED_FINALIZER})
STOP_SECONDS: Final = 120.0
PATCHES_AT_ONCE: Final = 16
ATTEMPTS: Final = 5

Say = Callable[[str], None]


class RemovalError(RuntimeError):
    """The removal cannot go on; the text says what stands in its way."""


async def remove(client: Client, namespace: str, say: Say) -> None:
    """Prepares the cluster for the deletion of the manifests. Raises RemovalError, ApiError, ConnectionError."""
    await _namespace_is_ours(client, namespace)
    await _stop(client, namespace, say)
    await _ask_nobody(client, namespace, say)
    await _let_go(client, say)
    await _gather_nothing(client, say)


async def _namespace_is_ours(client: Client, namespace: str) -> None:
    """A mistyped namespace would leave the programs running. Gone it may be where the manifests were deleted first:
    then the definitions hang, as nobody lets go of what they hold."""
    try:
        await client.get(NAMESPACES, namespace)
    except NotFound:
        if not await _definitions_hang(client):
            raise RemovalError(f"there is no namespace {namespace}: name the one of the installation") from None
    found = {each["metadata"]["namespace"] for each in await _all(client, DEPLOYMENTS, "", OURS)}
    if found and namespace not in found:
        raise RemovalError(
            f"nothing is installed in namespace {namespace}: the programs are in {', '.join(sorted(found))}"
        )


async def _definitions_hang(client: Client) -> bool:
    groups = {resource.group for resource in GUARDED}
    found = await _all(client, CUSTOM_RESOURCE_DEFINITIONS)
    return any(each["metadata"].get("deletionTimestamp") and each["spec"]["group"] in groups for each in found)


async def _stop(client: Client, namespace: str, say: Say) -> None:
    for deployment in await _all(client, DEPLOYMENTS, namespace, OURS):
        name = deployment["metadata"]["name"]
        if (deployment["spec"].get("replicas") or 0) > 0:
            await client.patch(DEPLOYMENTS, name, namespace, {"spec": {"replicas": 0}}, patch_type=PatchType.MERGE)
        say(f"deployment {name} stopped")
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await _until_no_pods(client, namespace)
    except TimeoutError:
        raise RemovalError(
            f"pods in {namespace} still run after {STOP_SECONDS:.0f} s; nothing was removed, delete them and repeat"
        ) from None


async def _until_no_pods(client: Client, namespace: str) -> None:
    pods: Informer[Document] = Informer(client, PODS, document, namespace=namespace, label_selector=OURS)
    changed = asyncio.Event()

    def note(_: Event[Document]) -> None:
        changed.set()

    pods.add_handler(note)
    following = asyncio.create_task(pods.run())
    try:
        await pods.synced.wait()
        while list(pods.values()):
            changed.clear()
            await changed.wait()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _ask_nobody(client: Client, namespace: str, say: Say) -> None:
    """Webhooks, conversion and aggregated APIs whose Services lead nowhere now."""
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for found in await _all(client, resource):
            hooks = found.get("webhooks") or []
            if any(_leads_to(hook.get("clientConfig") or {}, namespace) for hook in hooks):
                await _delete(client, resource, found, say)
    for found in await _all(client, API_SERVICES):
        if _leads_to(found.get("spec") or {}, namespace):
            await _delete(client, API_SERVICES, found, say)
    for found in await _all(client, CUSTOM_RESOURCE_DEFINITIONS):
        conversion = (found.get("spec") or {}).get("conversion") or {}
        if _leads_to((conversion.get("webhook") or {}).get("clientConfig") or {}, namespace):
            none = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
            name = found["metadata"]["name"]
            await client.patch(CUSTOM_RESOURCE_DEFINITIONS, name, "", none, patch_type=PatchType.MERGE)
            say(f"conversion of {name} switched off")


def _leads_to(config: Document, namespace: str) -> bool:
    return (config.get("service") or {}).get("namespace") == namespace


async def _delete(client: Client, resource: ResourceType, found: Document, say: Say) -> None:
    metadata = found["metadata"]
    try:
        await client.delete(resource, metadata["name"], uid=metadata["uid"])
    except NotFound:
        return
    say(f"{resource.kind} {metadata['name']} deleted")


async def _let_go(client: Client, say: Say) -> None:
    for resource in GUARDED:
        await _release(client, resource, "", say)
    await _release(client, PODS, f"{names.MANAGED_LABEL}=true", say)


async def _gather_nothing(client: Client, say: Say) -> None:
    """The controller of aggregated roles writes one again whose parts go after it, unless it saw it go before them."""
    for found in await _all(client, CLUSTER_ROLES, "", OURS):
        if found.get("aggregationRule"):
            await _delete(client, CLUSTER_ROLES, found, say)


async def _release(client: Client, resource: ResourceType, selector: str, say: Say) -> None:
    slots = asyncio.Semaphore(PATCHES_AT_ONCE)
    held = [found async for found in _held(client, resource, selector)]

    async def release(found: Document) -> None:
        async with slots:
            await _without_finalizers(client, resource, found)

    await asyncio.gather(*(release(found) for found in held))
    if held:
        say(f"{len(held)} {resource.plural}: finalizers removed")


async def _held(client: Client, resource: ResourceType, selector: str) -> AsyncIterator[Document]:
    for found in await _all(client, resource, "", selector):
        if FINALIZERS.intersection(found["metadata"].get("finalizers") or ()):
            yield found


async def _without_finalizers(client: Client, resource: ResourceType, found: Document) -> None:
    """By its resource version, so that nobody else's finalizer is lost."""
    for _ in range(ATTEMPTS):
        metadata = found["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        kept = [each for each in metadata.get("finalizers") or () if each not in FINALIZERS]
        wanted = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "finalizers": kept or None}
        try:
            await client.patch(resource, name, namespace, {"metadata": wanted}, patch_type=PatchType.MERGE)
        except NotFound:
            return
        except Conflict:
            try:
                found = msgspec.json.decode(await client.get(resource, name, namespace))
            except NotFound:
                return
            continue
        return
    raise RemovalError(f"{resource.kind} {found['metadata']['name']} is being changed all the time; repeat")


async def _all(client: Client, resource: ResourceType, namespace: str = "", selector: str = "") -> list[Document]:
    """None where the server does not know the kind (any more)."""
    try:
        page = await client.list(resource, namespace, label_selector=selector)
    except NotFound:
        return []
    return [msgspec.json.decode(item) for item in page.items]

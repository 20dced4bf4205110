"""The engine's state of a live cluster, read through its API server once: lists only, nothing is written.

The same kinds, views and rules as the running agent's; what only the agent's memory holds (whose victims are on their
way out, where scans of flavors stopped) is not in it.
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from worker_agent.api import resource_type as kinds
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import ResourceType
from worker_agent.controllers import intake
from worker_agent.engine import story_checks, story_objects
from worker_agent.engine.capacity import policy_hash
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story_checks import CheckTale
from worker_agent.engine.story_objects import StoryError
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError, Forbidden, NotFound

_LAST: Final = (kinds.NODES, kinds.PODS)
"""Many, and read only where a flavor has a topology: no question of quota depends on them."""


class LiveStateError(Exception):
    """The cluster cannot be read; the text says what to do."""


async def read(client: Client, policy: Policy, now: datetime) -> tuple[ClusterState, list[str]]:
    """The state, and a line for each object that it could not take. Raises LiveStateError, ConnectionError."""
    state = ClusterState(policy)
    problems: list[str] = []
    for resource in intake.DEVICES if policy.devices.enabled else ():
        problems += await _take_in(client, resource, state, now)
    for resource in intake.FOLLOWED:
        if resource not in (*_LAST, kinds.WORKLOAD_PRIORITY_CLASSES):
            problems += await _take_in(client, resource, state, now)
    if any(flavor.topology for flavor in state.catalog.flavors.values()):
        for resource in _LAST:
            problems += await _take_in(client, resource, state, now)
    state.flush_requeues(now)
    return state, problems


async def _take_in(client: Client, resource: ResourceType, state: ClusterState, now: datetime) -> list[str]:
    problems = []
    decode = intake.decoder(intake.followed(resource).type)
    for raw in await _list(client, resource):
        try:
            story_objects.put_view(state, resource.kind, decode(raw), now)
        except (StoryError, msgspec.ValidationError) as error:
            problems.append(f"{resource.kind} left out: {error}")
    return problems


async def _list(client: Client, resource: ResourceType, namespace: str = "") -> list[bytes]:
    try:
        return (await client.list(resource, namespace)).items
    except NotFound:
        if resource is kinds.WORKLOADS:
            raise LiveStateError("the cluster does not know Workloads: are the definitions installed?") from None
        return []
    except Forbidden as error:
        raise LiveStateError(f"{error.message}; explain needs to list {resource.plural} of the cluster") from None
    except ApiError as error:
        raise LiveStateError(f"listing {resource.plural}: {error.message}") from None


async def checks_of(client: Client, workload: Document) -> tuple[CheckTale, ...]:
    """How the workload's checks stand, those that ask an autoscaler with their requests. Raises LiveStateError."""
    namespace = workload["metadata"].get("namespace", "")
    listed = await _list(client, kinds.PROVISIONING_REQUESTS, namespace)
    return story_checks.waiting_for(
        workload,
        await _by_name(client, kinds.ADMISSION_CHECKS, AdmissionCheck),
        await _by_name(client, kinds.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig),
        [msgspec.json.decode(raw) for raw in listed],
    )


async def _by_name(client: Client, resource: ResourceType, type_: type[Any]) -> dict[str, Any]:
    decode = intake.decoder(type_)
    return {found.metadata.name: found for found in map(decode, await _list(client, resource))}


async def decides_alike(client: Client, policy: Policy) -> bool:
    """Whether the agent of this cluster runs with these settings; True where it does not say."""
    try:
        report: Any = msgspec.json.decode(await client.get(kinds.CLUSTER_CAPACITIES, "this"))
    except ApiError:
        return True
    told = ((report.get("status") or {}).get("policy") or {}).get("hash")
    return told in (None, policy_hash(policy))

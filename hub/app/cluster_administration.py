"""What ``fedhub cluster ...`` does on the manager: read the federation, mark a worker, move work off it."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from hub.engine import drain
from hub.engine.drain import Federation, Resident
from worker_agent.api import names, timestamps
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    WORKLOADS,
    ResourceType,
)
from worker_agent.api.workload import Workload
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.errors import Conflict, Invalid, NotFound

FIELD_MANAGER: Final = "fedhub-cli"


class UnknownCluster(Exception):
    """There is no MultiKueueCluster of that name; the text names those there are."""


class Refused(Exception):
    """The cluster is not in a state in which this may be done; the text says why."""


@dataclass(frozen=True, slots=True)
class View:
    """The manager's federation, read once. Raises ApiError, ConnectionError while reading."""

    client: Client
    federation: Federation
    workloads: tuple[Workload, ...]

    @classmethod
    async def read(cls, client: Client) -> "View":
        federation = Federation(
            await _by_name(client, MULTIKUEUE_CLUSTERS, MultiKueueCluster),
            await _by_name(client, ADMISSION_CHECKS, AdmissionCheck),
            await _by_name(client, MULTIKUEUE_CONFIGS, MultiKueueConfig),
        )
        decode = msgspec.json.Decoder(Workload).decode
        return cls(client, federation, tuple(decode(raw) for raw in (await client.list(WORKLOADS)).items))

    def cluster(self, name: str) -> MultiKueueCluster:
        """Raises UnknownCluster."""
        found = self.federation.clusters.get(name)
        if found is None:
            known = ", ".join(sorted(self.federation.clusters)) or "none"
            raise UnknownCluster(f"there is no MultiKueueCluster {name!r}; there are: {known}")
        return found

    def residents(self, name: str) -> list[Resident]:
        self.cluster(name)
        return list(drain.residents(name, self.workloads, self.federation, self.client.clock.now()))


async def cordon(view: View, name: str, *, cordoned: bool) -> bool:
    """Keep new work out, or let it in again; False where that was so already."""
    if drain.is_cordoned(view.cluster(name)) == cordoned:
        return False
    await _annotate(view.client, name, names.CORDONED_ANNOTATION, "true" if cordoned else None)
    return True


async def declare_lost(view: View, name: str) -> bool:
    """The administrator vouches that nothing runs there any more. Raises Refused while the hub is in contact."""
    cluster = view.cluster(name)
    active = next((each for each in cluster.status.conditions or () if each.type == names.ACTIVE), None)
    if active is not None and active.is_true:
        raise Refused(f"the hub is in contact with {name}: what runs there is known; use fedhub cluster drain {name}")
    if cluster.metadata.annotation(names.DECLARED_LOST_ANNOTATION):
        return False
    now = timestamps.rfc3339(view.client.clock.now())
    await _annotate(view.client, name, names.DECLARED_LOST_ANNOTATION, now)
    return True


async def move(client: Client, cluster: str, resident: Resident) -> bool:
    """Have the manager evict a Workload, whose job then goes to another cluster; False where it changed meanwhile."""
    path = f"/status/admissionChecks/{resident.check_index}"
    now = timestamps.rfc3339(client.clock.now())
    unchanged = [{"op": "test", "path": "/status/clusterName", "value": cluster}] if resident.runs else []
    steps = [
        *unchanged,
        {"op": "test", "path": f"{path}/name", "value": resident.check_name},
        {"op": "replace", "path": f"{path}/state", "value": names.CHECK_RETRY},
        {"op": "replace", "path": f"{path}/message", "value": drain.DRAINED.format(cluster=cluster)},
        {"op": "replace", "path": f"{path}/lastTransitionTime", "value": now},
    ]
    key = resident.key
    try:
        await client.patch(
            WORKLOADS,
            key.name,
            key.namespace,
            steps,
            patch_type=PatchType.JSON,
            subresource="status",
            field_manager=FIELD_MANAGER,
        )
    except (NotFound, Conflict, Invalid):
        return False
    return True


async def _annotate(client: Client, name: str, annotation: str, value: str | None) -> None:
    body = {"metadata": {"annotations": {annotation: value}}}
    await client.patch(MULTIKUEUE_CLUSTERS, name, "", body, patch_type=PatchType.MERGE, field_manager=FIELD_MANAGER)


async def _by_name(client: Client, resource: ResourceType, type_: type[Any]) -> dict[str, Any]:
    decode = msgspec.json.Decoder(type_, strict=False).decode
    found = [decode(raw) for raw in (await client.list(resource)).items]
    return {each.metadata.name: each for each in found}

"""What must not happen to running work while its cluster changes hands, noted as it happens."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from hub.local.simulation import job_pods, pod_status
from tests.benchmarks.federation_load import NAMESPACE, following
from tests.realcluster.mixed_federation import CLUSTERS, MixedFederation, condition
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS, PODS, WORKLOADS, ResourceType
from worker_agent.kube.informer import Event, Informer, document


@dataclass
class Disturbances:
    """``noted`` is empty when no Workload was evicted or made anew, no Job stopped and no pod ended.

    What has one of ``beside`` in its name is not looked at.
    """

    beside: tuple[str, ...] = ()
    noted: list[str] = field(default_factory=list)

    def handler(self, cluster: str, resource: ResourceType) -> "_Handler":
        return _Handler(self, cluster, resource)


@dataclass(frozen=True)
class _Handler:
    disturbances: Disturbances
    cluster: str
    resource: ResourceType

    def __call__(self, event: Event[Document]) -> None:
        if any(word in event.key.name for word in self.disturbances.beside):
            return
        if found := self._disturbance(event):
            place = f"{self.resource.kind} {event.key.name} in {self.cluster}"
            self.disturbances.noted.append(f"{place} {found}")

    def _disturbance(self, event: Event[Document]) -> str:
        if event.new is None:
            return "is gone"
        if self.resource is WORKLOADS and condition(event.new, "Evicted").get("status") == "True":
            return f"is evicted: {condition(event.new, 'Evicted')}"
        was_running = event.old is not None and event.old.get("spec", {}).get("suspend") is False
        if self.resource is JOBS and was_running and event.new["spec"].get("suspend"):
            return "is stopped"
        if self.resource is PODS and job_pods.phase(event.new) in (pod_status.FAILED, pod_status.SUCCEEDED):
            return "has ended"
        return ""


@asynccontextmanager
async def noting(world: MixedFederation, beside: tuple[str, ...]) -> AsyncIterator[Disturbances]:
    """Follows the Workloads, Jobs and pods of every cluster to the end of the context."""
    found = Disturbances(beside)
    async with AsyncExitStack() as stack:
        for cluster in CLUSTERS:
            for resource in (WORKLOADS, JOBS, PODS):
                informer = Informer(world.clients[cluster], resource, document, namespace=NAMESPACE)
                informer.add_handler(found.handler(cluster, resource))
                await stack.enter_async_context(following(informer))
        yield found

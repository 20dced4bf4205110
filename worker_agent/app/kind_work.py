"""The work of the enabled job kinds: follow each kind once the server has it, and run the controller that fits it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from worker_agent.api.frameworks import GVK
from worker_agent.api.job_kind import JobKind
from worker_agent.api.resource_type import PODS, STATEFUL_SETS, ResourceType
from worker_agent.api.workload import Workload
from worker_agent.app import kinds_served
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.job_controller import JobController, JobWorld
from worker_agent.controllers.pod_controller import PodController
from worker_agent.controllers.serving_controller import ServingController
from worker_agent.jobs.serving import ServingKind
from worker_agent.kube.client import Client
from worker_agent.kube.informer import Informer, Keep, document

DEFAULT_WORKERS: Final = 5
Work = Callable[[], Awaitable[None]]


class _Controller(Protocol):
    async def run(self) -> None: ...

    def look_at(self, workload: Workload) -> None: ...


class KindWork:
    """Starts what a kind needs when the server has it, and tells running controllers of what happens elsewhere."""

    def __init__(
        self,
        client: Client,
        world: JobWorld,
        followed_kinds: dict[GVK, ResourceType],
        concurrency: Mapping[str, int] | None = None,
    ) -> None:
        """``concurrency``: jobs of a kind looked at together, by ``Kind.group``, where it is not DEFAULT_WORKERS."""
        self._client = client
        self._world = world
        self._followed_kinds = followed_kinds
        self._concurrency = concurrency or {}
        self._controllers: list[_Controller] = []
        self.on_followed: Callable[[JobKind], None] = lambda kind: None
        """Told of each kind from the moment the objects of it are followed."""

    def look_at(self, workload: Workload) -> None:
        """Something outside this cluster matters to the Workload's job."""
        for controller in self._controllers:
            controller.look_at(workload)

    def of(self, kind: JobKind, applier: Applier) -> tuple[Work, Work]:
        """The work of one kind: what every replica does, and what the leader does. Both end only with the program."""
        followed = asyncio.Event()

        async def follow() -> None:
            sources = await self._follow(kind)
            self._followed_kinds[kind.resource.api_version, kind.resource.kind] = kind.resource
            self.on_followed(kind)
            async with asyncio.TaskGroup() as group:
                for resource, source in sources.items():
                    group.create_task(source.run(), name=f"informer {resource.plural}")
                    await source.synced.wait()
                followed.set()

        async def work() -> None:
            await followed.wait()
            for resource in kind.companion_resources:
                await self._world.known.informer(resource).synced.wait()
            controllers = self._made(kind, applier)
            self._controllers.extend(controllers)
            async with asyncio.TaskGroup() as group:
                for controller in controllers:
                    group.create_task(controller.run(), name=f"jobs {kind.framework}")

        return follow, work

    async def _follow(self, kind: JobKind) -> Mapping[ResourceType, Informer[Any]]:
        """Informers of the kind and of what its pods follow from, where nobody follows them yet."""
        wanted = [kind.resource, *kind.companion_resources]
        if isinstance(kind, ServingKind) and kind.reconciled and kind.resource != STATEFUL_SETS:
            wanted.append(STATEFUL_SETS)
        for resource in wanted:
            await kinds_served.until_served(self._client, resource, self._world.clock)
        known = self._world.known
        made = {
            resource: Informer(self._client, resource, document, keep=Keep.DECODED)
            for resource in wanted
            if not known.follows(resource)
        }
        for resource, source in made.items():
            known.follow(resource, source)
        return made

    def _made(self, kind: JobKind, applier: Applier) -> list[_Controller]:
        workers = self._concurrency.get(group_kind(kind.resource), DEFAULT_WORKERS)
        if kind.resource == PODS:
            pods = PodController(self._world, applier, workers=workers)
            return [pods, pods.single]
        if isinstance(kind, ServingKind):
            return [ServingController(kind, self._world, applier, workers=workers)] if kind.reconciled else []
        return [JobController(kind, self._world, applier, workers=workers)]


def group_kind(resource: ResourceType) -> str:
    """As ``controller.groupKindConcurrency`` names kinds: ``Job.batch``, and ``Pod`` of the core group."""
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind

"""WorkloadPriorityClass: a class that appears or changes its value gives its value to every Workload that names it."""

from collections.abc import Iterable

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.intents import WORKLOAD_CONTROLLER_MANAGER, PatchObject
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import NotFound
from worker_agent.kube.informer import Event, Informer

PRIORITY_INDEX = "priority class"


def by_priority_class(workload: Workload) -> Iterable[str]:
    """The WorkloadPriorityClass a Workload names; pod priority classes are another matter."""
    reference = workload.spec.priority_class_ref
    if reference is not None and reference.kind == names.WORKLOAD_PRIORITY_CLASS_KIND:
        yield reference.name


class PriorityClassController:
    """Reconciles classes; a deleted class changes nothing."""

    def __init__(self, known: KnownObjects, applier: Applier, clock: Clock) -> None:
        self._known = known
        self._applier = applier
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._classes: Informer[WorkloadPriorityClass] = known.informer(WORKLOAD_PRIORITY_CLASSES)
        self._workloads.add_index(PRIORITY_INDEX, by_priority_class)
        self.controller: Controller[Key] = Controller("workloadpriorityclass", self._reconcile, clock=clock)
        self._classes.add_handler(self._changed)

    async def run(self) -> None:
        await self.controller.run()

    def _changed(self, event: Event[WorkloadPriorityClass]) -> None:
        if event.new is not None and (event.old is None or event.old.value != event.new.value):
            self.controller.enqueue(event.key)

    async def _reconcile(self, key: Key) -> float | None:
        named = self._classes.get(key)
        if named is None:
            return None
        for document in list(self._known.documents(WORKLOADS, PRIORITY_INDEX, key.name)):
            spec = document.get("spec") or {}
            if (spec.get("priorityClassRef") or {}).get("name") != key.name or spec.get("priority") == named.value:
                continue
            after = {**document, "spec": {**spec, "priority": named.value}}
            patch = PatchObject(
                resource=WORKLOADS,
                before=document,
                after=after,
                field_manager=WORKLOAD_CONTROLLER_MANAGER,
                strict=False,
            )
            try:
                await self._applier.apply([patch])
            except NotFound:
                continue
        return None

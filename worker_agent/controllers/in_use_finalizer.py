"""The finalizer ``resource-in-use``: keeps flavors, checks and topologies while ClusterQueues refer to them."""

from collections.abc import Callable, Iterable

from worker_agent.api import names, need
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.meta import Key, Object
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import ADMISSION_CHECKS, CLUSTER_QUEUES, RESOURCE_FLAVORS, TOPOLOGIES, ResourceType
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.intents import Intent, PatchObject, RemoveFinalizer
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event

FIELD_MANAGER = "kueue"

References = Callable[[Object], Iterable[str]]
"""Names that an object of the referring kind mentions."""


GUARDED = (RESOURCE_FLAVORS, ADMISSION_CHECKS, TOPOLOGIES)
NEEDS = tuple(need.of(resource, "patch") for resource in GUARDED)


def flavors_of(queue: Object) -> Iterable[str]:
    if isinstance(queue, ClusterQueue):
        yield from (flavor.name for group in queue.spec.resource_groups for flavor in group.flavors)


def checks_of(queue: Object) -> Iterable[str]:
    if isinstance(queue, ClusterQueue) and queue.spec.admission_checks_strategy is not None:
        yield from (rule.name for rule in queue.spec.admission_checks_strategy.admission_checks or ())


def topologies_of(flavor: Object) -> Iterable[str]:
    if isinstance(flavor, ResourceFlavor) and flavor.spec.topology_name:
        yield flavor.spec.topology_name


def finalizer_intents(resource: ResourceType, document: Document, in_use: bool) -> list[Intent]:
    """Put the finalizer on a living object; take it off a dying one that nothing uses."""
    metadata = document.get("metadata") or {}
    key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
    if metadata.get("deletionTimestamp"):
        return [] if in_use else [RemoveFinalizer(resource=resource, key=key, finalizer=names.IN_USE_FINALIZER)]
    finalizers = metadata.get("finalizers") or []
    if names.IN_USE_FINALIZER in finalizers:
        return []
    after = {**document, "metadata": {**metadata, "finalizers": [*finalizers, names.IN_USE_FINALIZER]}}
    return [PatchObject(resource=resource, before=document, after=after, field_manager=FIELD_MANAGER)]


class InUseFinalizer:
    """Guards objects of ``resource`` that objects of ``users`` refer to."""

    def __init__(
        self, resource: ResourceType, users: ResourceType, references: References, known: KnownObjects, applier: Applier
    ) -> None:
        self._resource = resource
        self._users = known.informer(users)
        self._references = references
        self._known = known
        self._applier = applier
        self._index = f"uses {resource.plural}"
        self._users.add_index(self._index, references)

    def start(self, clock: Clock) -> Controller[Key]:
        """The controller to run; it watches both kinds."""
        controller: Controller[Key] = Controller(self._resource.plural, self._reconcile, clock=clock)

        def changed(event: Event[Object]) -> None:
            controller.enqueue(event.key)

        def user_changed(event: Event[Object]) -> None:
            for item in (event.old, event.new):
                for name in self._references(item) if item is not None else ():
                    controller.enqueue(Key("", name))

        self._known.informer(self._resource).add_handler(changed)
        self._users.add_handler(user_changed)
        return controller

    async def _reconcile(self, key: Key) -> float | None:
        document = self._known.document(self._resource, key)
        if document is None:
            return None
        in_use = bool(self._users.by_index(self._index, key.name))
        return await self._applier.apply(finalizer_intents(self._resource, document, in_use))


def guards(known: KnownObjects, applier: Applier) -> list[InUseFinalizer]:
    """Every kind that carries the finalizer, but for ClusterQueues and Workloads, whose controllers see to it."""
    return [
        InUseFinalizer(RESOURCE_FLAVORS, CLUSTER_QUEUES, flavors_of, known, applier),
        InUseFinalizer(ADMISSION_CHECKS, CLUSTER_QUEUES, checks_of, known, applier),
        InUseFinalizer(TOPOLOGIES, RESOURCE_FLAVORS, topologies_of, known, applier),
    ]

"""What both ungaters share: they look at Workloads and their pods, and take gates off pods as the engine decides."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.pod_gates import PodGates
from worker_agent.controllers.topology_pods import TopologyPods
from worker_agent.engine.intents import PatchObject
from worker_agent.engine.tas.ungating import UngatingError
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ReconcileError
from worker_agent.kube.informer import Event, Informer

POD_BATCH_SECONDS: Final = 1.0
"""Pods of a job come in bursts: they are looked at together (spec/tas 17)."""

SLICE_INDEX: Final = "slice"


def by_slice(workload: Workload) -> Iterable[str]:
    """By what pods of all slices of an elastic job know it."""
    first = workload.metadata.annotation(names.WORKLOAD_SLICE_NAME_ANNOTATION) or workload.metadata.name
    yield f"{workload.metadata.namespace}/{first}"


class Ungater(ABC):
    """A subclass says which events matter, which Workload a key stands for, and what the engine decides for it."""

    name: ClassVar[str]

    def __init__(self, known: KnownObjects, pods: TopologyPods, gates: PodGates, clock: Clock) -> None:
        self._known = known
        self._pods = pods
        self._gates = gates
        self.controller: Controller[Key] = Controller(self.name, self._reconcile, workers=5, clock=clock)
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._workloads.add_index(SLICE_INDEX, by_slice)
        self._workloads.add_handler(self._workload_changed)
        pods.informer.add_handler(self._pod_changed)

    async def run(self) -> None:
        await self.controller.run()

    @abstractmethod
    def _workload_changed(self, event: Event[Workload]) -> None:
        """Enqueues what the event matters to."""

    @abstractmethod
    def _pod_changed(self, event: Event[Pod]) -> None:
        """Enqueues what the event matters to."""

    @abstractmethod
    def _workload_of(self, key: Key) -> Document | None:
        """The Workload whose pods may go; None where there is none, or not yet."""

    @abstractmethod
    def _decide(self, key: Key, workload: Document) -> list[PatchObject]:
        """The writes that take gates off pods. Raises UngatingError."""

    async def _reconcile(self, key: Key) -> float | None:
        workload = self._workload_of(key)
        if workload is None:
            return None
        try:
            intents = self._decide(key, workload)
        except UngatingError as error:
            raise ReconcileError(str(error)) from error
        await self._gates.remove(workload, intents)
        return None

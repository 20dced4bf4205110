"""The topology ungater's shell: an admitted Workload's gated pods are sent to the domains of its assignment.

``engine.tas.ungating`` decides. Decisions rest on what we wrote ourselves where the watch lags behind, so no domain is
given out twice.
"""

from collections.abc import Iterable
from typing import Final

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers import topology_pods
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.pod_gates import PodGates
from worker_agent.controllers.topology_pods import TopologyPods
from worker_agent.engine import workload_status
from worker_agent.engine.tas import pod_writes, ungating
from worker_agent.engine.tas.ungating import UngatingError
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ReconcileError
from worker_agent.kube.informer import Event, Informer

POD_BATCH_SECONDS: Final = 1.0
"""Pods of a job come in bursts: they are looked at together (spec/tas 17)."""

SLICE_INDEX: Final = "slice"
_ENDED: Final = ("Succeeded", "Failed")


def by_slice(workload: Workload) -> Iterable[str]:
    """By what pods of all slices of an elastic job know it."""
    first = workload.metadata.annotation(names.WORKLOAD_SLICE_NAME_ANNOTATION) or workload.metadata.name
    yield f"{workload.metadata.namespace}/{first}"


class TopologyUngater:
    """Reconciles Workloads when they or their pods change."""

    def __init__(self, known: KnownObjects, pods: TopologyPods, gates: PodGates, clock: Clock) -> None:
        self._known = known
        self._pods = pods
        self._gates = gates
        self.controller: Controller[Key] = Controller("topology ungater", self._reconcile, workers=5, clock=clock)
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._workloads.add_index(SLICE_INDEX, by_slice)
        self._workloads.add_handler(self._workload_changed)
        pods.informer.add_handler(self._pod_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _workload_changed(self, event: Event[Workload]) -> None:
        if event.new is not None and _is_placed(event.new):
            self.controller.enqueue(event.key)

    def _pod_changed(self, event: Event[Pod]) -> None:
        pod = event.new or event.old
        if pod is None or (event.old is not None and event.new is not None and _told(event.old) == _told(event.new)):
            return
        for workload in self._workloads.by_index(SLICE_INDEX, topology_pods.slice_of(pod)):
            if _is_placed(workload):
                self.controller.enqueue(workload.metadata.key, POD_BATCH_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        workload = self._known.document(WORKLOADS, key)
        if workload is None or workload_status.is_true(workload, names.FINISHED):
            return None
        try:
            steps = ungating.decide(workload, self._pods.of(workload))
        except UngatingError as error:
            raise ReconcileError(str(error)) from error
        await self._gates.remove(workload, [pod_writes.ungate(step) for step in steps])
        return None


def _is_placed(workload: Workload) -> bool:
    admission = workload.status.admission
    if admission is None or not workload.is_true(names.ADMITTED):
        return False
    return any(assignment.topology_assignment is not None for assignment in admission.pod_set_assignments)


def _told(pod: Pod) -> tuple[object, ...]:
    """What ungating looks at."""
    ended = pod.status.phase in _ENDED
    return topology_pods.is_gated(pod), ended, pod.spec.node_selector, pod.metadata.labels, pod.metadata.annotations

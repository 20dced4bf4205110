"""The topology ungater's shell: an admitted Workload's gated pods are sent to the domains of its assignment.

``engine.tas.ungating`` decides. Decisions rest on what we wrote ourselves where the watch lags behind, so no domain is
given out twice.
"""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers import topology_pods
from worker_agent.controllers.ungater import POD_BATCH_SECONDS, SLICE_INDEX, Ungater
from worker_agent.engine import workload_status
from worker_agent.engine.intents import PatchObject
from worker_agent.engine.tas import pod_writes, ungating
from worker_agent.kube.informer import Event

_ENDED: Final = ("Succeeded", "Failed")


class TopologyUngater(Ungater):
    """Reconciles Workloads when they or their pods change."""

    name = "topology ungater"

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

    def _workload_of(self, key: Key) -> Document | None:
        workload = self._known.document(WORKLOADS, key)
        return None if workload is None or workload_status.is_true(workload, names.FINISHED) else workload

    def _decide(self, key: Key, workload: Document) -> list[PatchObject]:
        return [pod_writes.ungate(step) for step in ungating.decide(workload, self._pods.of(workload))]


def _is_placed(workload: Workload) -> bool:
    admission = workload.status.admission
    if admission is None or not workload.is_true(names.ADMITTED):
        return False
    return any(assignment.topology_assignment is not None for assignment in admission.pod_set_assignments)


def _told(pod: Pod) -> tuple[object, ...]:
    """What ungating looks at."""
    ended = pod.status.phase in _ENDED
    return topology_pods.is_gated(pod), ended, pod.spec.node_selector, pod.metadata.labels, pod.metadata.annotations

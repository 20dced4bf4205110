"""The ungater of elastic jobs: pods of a scaled-up job may be scheduled as far as its present slice was granted.

``engine.elastic_ungating`` decides, on what we wrote ourselves where the watch lags behind: never are more pods let go.
"""

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
from worker_agent.controllers.topology_ungater import POD_BATCH_SECONDS, SLICE_INDEX, by_slice
from worker_agent.engine import elastic_ungating
from worker_agent.engine.tas.ungating import UngatingError
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ReconcileError
from worker_agent.kube.informer import Event, Informer

_ELASTIC: Final = "true"


class ElasticUngater:
    """Reconciles the slices of one job together; the key is that of the first slice, which may be long gone."""

    def __init__(self, known: KnownObjects, pods: TopologyPods, gates: PodGates, clock: Clock) -> None:
        self._known = known
        self._pods = pods
        self._gates = gates
        self.controller: Controller[Key] = Controller("elastic job ungater", self._reconcile, workers=5, clock=clock)
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._workloads.add_index(SLICE_INDEX, by_slice)
        self._workloads.add_handler(self._workload_changed)
        pods.informer.add_handler(self._pod_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _workload_changed(self, event: Event[Workload]) -> None:
        if event.new is not None and _may_run(event.new):
            for first in by_slice(event.new):
                self.controller.enqueue(Key.parse(first))

    def _pod_changed(self, event: Event[Pod]) -> None:
        pod = event.new or event.old
        first = topology_pods.slice_of(pod) if pod is not None else ""
        if first and any(map(_may_run, self._workloads.by_index(SLICE_INDEX, first))):
            self.controller.enqueue(Key.parse(first), POD_BATCH_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        slices = list(self._known.documents(WORKLOADS, SLICE_INDEX, str(key)))
        present = elastic_ungating.present_slice(slices)
        if present is None:
            return None
        try:
            steps = elastic_ungating.decide(slices, self._pods.of(present))
        except UngatingError as error:
            raise ReconcileError(str(error)) from error
        await self._gates.remove(present, [step.intent() for step in steps])
        return None


def _may_run(workload: Workload) -> bool:
    elastic = workload.metadata.annotation(names.ELASTIC_JOB_ANNOTATION) == _ELASTIC
    return elastic and workload.is_true(names.ADMITTED) and not workload.is_true(names.FINISHED)

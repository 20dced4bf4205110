"""The ungater of elastic jobs: pods of a scaled-up job may be scheduled as far as its present slice was granted.

``engine.elastic_ungating`` decides, on what we wrote ourselves where the watch lags behind: never are more pods let go.
"""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers import topology_pods
from worker_agent.controllers.ungater import POD_BATCH_SECONDS, SLICE_INDEX, Ungater, by_slice
from worker_agent.engine import elastic_ungating
from worker_agent.engine.intents import PatchObject
from worker_agent.kube.informer import Event

_ELASTIC: Final = "true"


class ElasticUngater(Ungater):
    """Reconciles the slices of one job together; the key is that of the first slice, which may be long gone."""

    name = "elastic job ungater"

    def _workload_changed(self, event: Event[Workload]) -> None:
        if event.new is not None and _may_run(event.new):
            for first in by_slice(event.new):
                self.controller.enqueue(Key.parse(first))

    def _pod_changed(self, event: Event[Pod]) -> None:
        pod = event.new or event.old
        first = topology_pods.slice_of(pod) if pod is not None else ""
        if first and any(map(_may_run, self._workloads.by_index(SLICE_INDEX, first))):
            self.controller.enqueue(Key.parse(first), POD_BATCH_SECONDS)

    def _workload_of(self, key: Key) -> Document | None:
        return elastic_ungating.present_slice(self._slices(key))

    def _decide(self, key: Key, workload: Document) -> list[PatchObject]:
        return [step.intent() for step in elastic_ungating.decide(self._slices(key), self._pods.of(workload))]

    def _slices(self, key: Key) -> list[Document]:
        return list(self._known.documents(WORKLOADS, SLICE_INDEX, str(key)))


def _may_run(workload: Workload) -> bool:
    elastic = workload.metadata.annotation(names.ELASTIC_JOB_ANNOTATION) == _ELASTIC
    return elastic and workload.is_true(names.ADMITTED) and not workload.is_true(names.FINISHED)

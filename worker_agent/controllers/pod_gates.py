"""Takes scheduling gates off pods, several at a time, and tells how long the pods waited for it."""

import asyncio
from collections.abc import Sequence

from worker_agent.api import names, need
from worker_agent.api.document import Document, at
from worker_agent.api.resource_type import PODS
from worker_agent.controllers.applier import Applier
from worker_agent.engine import workload_status
from worker_agent.engine.intents import PatchObject
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import NotFound
from worker_agent.metrics import AgentMetrics

AT_ONCE = 16
"""Patches under way for one Workload."""


NEEDS = (need.of(PODS, "patch"),)


class PodGates:
    """Of one sort of gate."""

    def __init__(self, gate: str, applier: Applier, metrics: AgentMetrics, clock: Clock) -> None:
        self._gate = gate
        self._applier = applier
        self._metrics = metrics
        self._clock = clock

    async def remove(self, workload: Document, patches: Sequence[PatchObject]) -> None:
        """All patches are tried; raises the first refusal but that of a pod that is gone."""
        for first in range(0, len(patches), AT_ONCE):
            writes = (self._applier.apply([patch]) for patch in patches[first : first + AT_ONCE])
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            for outcome in outcomes:
                if not isinstance(outcome, BaseException):
                    self._measure(workload)
            for outcome in outcomes:
                if isinstance(outcome, BaseException) and not isinstance(outcome, NotFound):
                    raise outcome

    def _measure(self, workload: Document) -> None:
        admitted = workload_status.since(workload, names.ADMITTED)
        group = at(workload, ("metadata", "annotations"), {}).get(names.IS_GROUP_WORKLOAD_ANNOTATION) == "true"
        queue = at(workload, ("status", "admission", "clusterQueue"), "")
        self._metrics.gate_removed(self._gate, queue, (self._clock.now() - admitted).total_seconds(), group=group)

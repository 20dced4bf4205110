"""Controllers that only run behind a feature gate of their own."""

from collections.abc import Callable, Iterator
from typing import Protocol

from worker_agent.api import names
from worker_agent.app.configuration import Configuration
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.elastic_ungater import ElasticUngater
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.pod_gates import PodGates
from worker_agent.controllers.topology_pods import TopologyPods
from worker_agent.controllers.variant_controller import VariantController
from worker_agent.kube.clock import Clock
from worker_agent.metrics import AgentMetrics


class Runs(Protocol):
    async def run(self) -> None: ...


def controllers(
    configuration: Configuration,
    known: KnownObjects,
    applier: Callable[[str], Applier],
    metrics: AgentMetrics,
    clock: Clock,
) -> Iterator[Runs]:
    """``applier`` makes the writer that tells its events under a controller's name."""
    gates = configuration.gates
    if configuration.policy.elastic_jobs:
        ungater = PodGates(names.ELASTIC_JOB_SCHEDULING_GATE, applier("ElasticJobUngater"), metrics, clock)
        yield ElasticUngater(known, TopologyPods(known), ungater, clock)
    if gates["ConcurrentAdmission"]:
        yield VariantController(
            known,
            applier("concurrent-admission-controller"),
            configuration.rules.observability,
            clock,
            short_names=gates["ShortWorkloadNames"],
        )

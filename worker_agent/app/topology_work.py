"""What an agent does about pods and nodes when topology aware scheduling is on, wired by its configuration."""

from collections.abc import Callable, Iterator

from worker_agent.api import names
from worker_agent.app.configuration import Configuration
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.failure_recovery_controller import FailureRecoveryController
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.node_failure_controller import NodeFailureController
from worker_agent.controllers.pod_gates import PodGates
from worker_agent.controllers.topology_pods import TopologyPods
from worker_agent.controllers.topology_ungater import TopologyUngater
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.metrics import AgentMetrics

Wired = TopologyUngater | NodeFailureController | FailureRecoveryController


def controllers(
    configuration: Configuration,
    known: KnownObjects,
    client: Client,
    applier: Callable[[str], Applier],
    metrics: AgentMetrics,
    clock: Clock,
) -> Iterator[Wired]:
    """Those that feature gates ask for."""
    if configuration.policy.topology_aware:
        pods = TopologyPods(known)
        writer = applier("kueue-tas-topology-ungater")
        gates = PodGates(names.TOPOLOGY_SCHEDULING_GATE, writer, metrics, clock)
        yield TopologyUngater(known, pods, gates, clock)
        if configuration.node_failures is not None:
            recorder = applier("kueue-tas-node-failure-controller")
            yield NodeFailureController(known, pods, recorder, configuration.node_failures, clock)
    if configuration.gates["FailureRecoveryPolicy"]:
        yield FailureRecoveryController(client, known, applier("kueue-failure-recovery"), clock)

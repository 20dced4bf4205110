"""The metrics of an agent, wired by its configuration: what is counted, what is read at a scrape, what goes with its
object."""

import platform
from collections.abc import Callable

from worker_agent.api import program_version
from worker_agent.api.document import Document
from worker_agent.api.meta import Key, Object
from worker_agent.api.resource_type import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOADS, ResourceType
from worker_agent.api.selectors import Query, compile_selector
from worker_agent.app.configuration import Configuration
from worker_agent.app.runtime_metrics import RuntimeCollector, Sources
from worker_agent.app.view_metrics import Shown, ViewCollector
from worker_agent.app.webhook_service import WebhookService
from worker_agent.controllers.engine_thread import Engine
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.workload_metrics import WorkloadMetrics
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.engine.plan import Plan
from worker_agent.kube.informer import Event
from worker_agent.metric_labels import CustomLabels, Source, read_custom_labels
from worker_agent.metrics import FOLLOWER, LEADER, STANDALONE, AgentMetrics

_KINDS: dict[Source, ResourceType] = {
    Source.CLUSTER_QUEUE: CLUSTER_QUEUES,
    Source.LOCAL_QUEUE: LOCAL_QUEUES,
    Source.COHORT: COHORTS,
    Source.WORKLOAD: WORKLOADS,
}


def make(configuration: Configuration, known: KnownObjects) -> AgentMetrics:
    """Made before anything is followed: objects are looked up when a series is told."""
    settings = configuration.settings

    def look_up(source: Source, key: Key) -> Object | None:
        found: Object | None = known.informer(_KINDS[source]).get(key)
        return found

    labels = settings.metrics.custom_labels if configuration.gates["CustomMetricLabels"] else ()
    custom = CustomLabels(read_custom_labels([label.model_dump() for label in labels]), look_up)
    role = FOLLOWER if settings.leader_election.leader_elect else STANDALONE
    metrics = AgentMetrics(role=role, local_queues=_LocalQueues(configuration, known), custom=custom)
    metrics.built(build())
    return metrics


def observe(
    metrics: AgentMetrics, configuration: Configuration, known: KnownObjects, engine: Engine
) -> WorkloadMetrics:
    """Count what the watches show, and read the engine's view at every scrape."""
    workloads = known.informer(WORKLOADS)
    tallies = WorkloadTallies(workloads, metrics.custom)
    cohorts = configuration.gates["MetricsForCohorts"]

    def above(cluster_queue: str) -> tuple[str, ...]:
        return engine.view.cohorts_above(cluster_queue) if cohorts else ()

    counts = WorkloadMetrics(workloads, known.informer(LOCAL_QUEUES), metrics, above)
    shown = Shown(
        local_queues=_LocalQueues(configuration, known),
        cohorts=cohorts,
        resources=configuration.settings.metrics.enable_cluster_queue_resources,
        unadmitted=configuration.gates["UnadmittedWorkloadsObservability"],
        hashes=configuration.gates["SchedulingEquivalenceHashing"],
        custom=metrics.custom,
    )
    metrics.registry.register(ViewCollector(lambda: engine.view, lambda: metrics.role, shown, tallies))
    _forget_with(known, metrics)
    return counts


def tell_runtime(
    metrics: AgentMetrics, runtime: Sources, configuration: Configuration, webhooks: WebhookService | None
) -> None:
    """How the program itself works; its controllers join ``runtime`` when they begin to run."""
    election = configuration.settings.leader_election
    if election.leader_elect:
        runtime.lease = election.resource_name
        runtime.leads = lambda: metrics.role == LEADER
    runtime.webhooks = webhooks.tally if webhooks is not None else None
    metrics.registry.register(RuntimeCollector(runtime))


def _forget_with(known: KnownObjects, metrics: AgentMetrics) -> None:
    """Series of an object that is gone go with it."""

    def cluster_queue(event: Event[Object]) -> None:
        if event.new is None:
            metrics.forget_cluster_queue(event.key.name)

    def local_queue(event: Event[Object]) -> None:
        if event.new is None:
            metrics.forget_local_queue(event.key)

    def cohort(event: Event[Object]) -> None:
        if event.new is None:
            metrics.forget_cohort(event.key.name)

    known.informer(CLUSTER_QUEUES).add_handler(cluster_queue)
    known.informer(LOCAL_QUEUES).add_handler(local_queue)
    known.informer(COHORTS).add_handler(cohort)


def count_plan(metrics: AgentMetrics, known: KnownObjects, plan: Plan, seconds: float) -> None:
    """One cycle, without what only the objects of its victims tell."""
    metrics.cycle(bool(plan.admissions), seconds)
    metrics.preemption_skips(plan.preemption_skips)
    metrics.recomputed(plan.recomputations)
    for step in plan.preemptions:
        metrics.preempted(_cluster_queue_of(known, step.preemptor), step.reason)


def _cluster_queue_of(known: KnownObjects, workload: Key) -> str:
    found = known.informer(WORKLOADS).get(workload)
    if found is None:
        return ""
    queue = known.informer(LOCAL_QUEUES).get(Key(workload.namespace, found.spec.queue_name))
    return "" if queue is None else str(queue.spec.cluster_queue)


def creation_latency(metrics: AgentMetrics, configuration: Configuration) -> Callable[[str, float], None]:
    """What is told of every Workload made for a job."""
    if configuration.gates["MetricForWorkloadCreationLatency"]:
        return metrics.workload_created
    return lambda kind, seconds: None


def build() -> Document:
    """Labels of ``kueue_build_info``: a release has no commit or date of its own here, and Python stands for Go."""
    return {
        "git_version": f"v{program_version.VERSION}",
        "git_commit": "",
        "build_date": "",
        "go_version": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


class _LocalQueues:
    """Which LocalQueues have series: none with the gate off or the stanza without ``enable``; those selected."""

    def __init__(self, configuration: Configuration, known: KnownObjects) -> None:
        stanza = configuration.settings.metrics.local_queue_metrics
        self._known = known
        self._on = configuration.gates["LocalQueueMetrics"] and (stanza is None or stanza.enable)
        self._query: Query | None = None
        if stanza is not None and stanza.local_queue_selector is not None:
            self._query = compile_selector(stanza.selector)

    def __call__(self, key: Key) -> bool:
        if not self._on or self._query is None:
            return self._on
        found = self._known.informer(LOCAL_QUEUES).get(key)
        return found is not None and self._query.matches(found.metadata.labels or {})

"""What a scrape shows."""

import itertools

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from tests import builders
from tests.engine_world import EngineWorld
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.app.view_metrics import ViewCollector
from worker_agent.controllers.workload_metrics import WorkloadMetrics
from worker_agent.kube.informer import Event, EventType
from worker_agent.metrics import AgentMetrics


def view_series(world, **options):
    registry = CollectorRegistry()
    registry.register(ViewCollector(lambda: world.state.publish(world.now), "standalone", **options))
    return generate_latest(registry).decode()


def test_gauges_follow_the_engines_view():
    world = EngineWorld([*builders.single_queue(cpu=4), builders.admitted("a", cpu=3), builders.workload("b", cpu=3)])
    text = view_series(world, resources=True)
    assert 'kueue_reserving_active_workloads{cluster_queue="q",replica_role="standalone"} 1.0' in text
    assert 'kueue_cluster_queue_status{cluster_queue="q",replica_role="standalone",status="active"} 1.0' in text
    assert 'kueue_pending_workloads{cluster_queue="q",replica_role="standalone",status="active"} 1.0' in text
    usage = 'kueue_cluster_queue_resource_usage{cluster_queue="q",cohort="",flavor="default",replica_role="standalone"'
    assert f'{usage},resource="cpu"}} 3.0' in text


def test_series_by_local_queue_can_be_left_out():
    world = EngineWorld([*builders.single_queue()])
    assert "kueue_local_queue_status" in view_series(world)
    assert "kueue_local_queue" not in view_series(world, local_queues=False)


class Source:
    """In place of an informer: hands events to the one handler."""

    def __init__(self, objects=()):
        self.objects = dict(objects)

    def add_handler(self, handler):
        self.tell = handler

    def get(self, key):
        return self.objects.get(key)


def typed(document):
    return msgspec.json.decode(msgspec.json.encode(document), type=Workload)


def counted(*changes):
    """The scrape after a Workload went through these forms."""
    metrics = AgentMetrics()
    queue = msgspec.convert(builders.local_queue(), LocalQueue)
    source = Source()
    WorkloadMetrics(source, Source({Key("ns", "lq"): queue}), metrics)
    forms = [typed(document) for document in changes]
    for old, new in itertools.pairwise(forms):
        source.tell(Event(EventType.MODIFIED, new.metadata.key, old, new))
    return generate_latest(metrics.registry).decode()


def test_an_admission_counts_once_with_its_wait():
    admitted = builders.admitted("w")
    for condition in admitted["status"]["conditions"]:
        condition["lastTransitionTime"] = "2026-01-01T10:00:03Z"
    text = counted(builders.workload("w"), admitted, admitted)
    assert 'kueue_admitted_workloads_total{cluster_queue="q",priority_class="",replica_role="standalone"} 1.0' in text
    wait = 'kueue_admission_wait_time_seconds_sum{cluster_queue="q",priority_class="",replica_role="standalone"} 3.0'
    assert wait in text
    assert 'kueue_local_queue_admitted_workloads_total{name="lq",namespace="ns"' in text


def test_an_eviction_counts_with_reason_and_cause():
    running = builders.admitted("w")
    evicted = builders.admitted("w")
    entry = {"reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart", "count": 1}
    evicted["status"]["schedulingStats"] = {"evictions": [entry]}
    text = counted(running, evicted)
    labels = (
        'cluster_queue="q",priority_class="",reason="PodsReadyTimeout",'
        'replica_role="standalone",underlying_cause="WaitForStart"'
    )
    assert f"kueue_evicted_workloads_total{{{labels}}} 1.0" in text
    assert f"kueue_evicted_workloads_once_total{{{labels}}} 1.0" in text


def test_what_was_there_at_the_start_is_not_counted():
    metrics = AgentMetrics()
    source = Source()
    WorkloadMetrics(source, Source(), metrics)
    workload = typed(builders.admitted("w"))
    source.tell(Event(EventType.ADDED, workload.metadata.key, None, workload))
    assert "admitted_workloads_total{" not in generate_latest(metrics.registry).decode()

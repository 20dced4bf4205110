"""What a scrape shows."""

import itertools

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from tests import builders
from tests.engine_world import EngineWorld
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Object, ObjectMeta
from worker_agent.api.workload import Workload
from worker_agent.app.view_metrics import Shown, ViewCollector
from worker_agent.controllers.workload_metrics import WorkloadMetrics
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.kube.informer import Event, EventType
from worker_agent.metric_labels import UNTRACKED, CustomLabel, CustomLabels, Source
from worker_agent.metrics import AgentMetrics, Queues


def view_series(world, **options):
    registry = CollectorRegistry()
    registry.register(ViewCollector(lambda: world.state.publish(world.now), lambda: "standalone", Shown(**options)))
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
    assert "kueue_local_queue_status{" not in view_series(world, local_queues=lambda key: False)


class Watch:
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
    source = Watch()
    WorkloadMetrics(source, Watch({Key("ns", "lq"): queue}), metrics)
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
    source = Watch()
    WorkloadMetrics(source, Watch(), metrics)
    workload = typed(builders.admitted("w"))
    source.tell(Event(EventType.ADDED, workload.metadata.key, None, workload))
    assert "admitted_workloads_total{" not in generate_latest(metrics.registry).decode()


# -- labels of the user's own ------------------------------------------------------------------------------------------


TEAM = CustomLabel("team", Source.CLUSTER_QUEUE, label="example.com/team")
TIER = CustomLabel("tier", Source.WORKLOAD, annotation="tier", tracked=frozenset({"gold"}))


def labelled(*labels, **objects):
    """``objects``: what is found of queues, by name."""
    found = {name: msgspec.convert({"metadata": {"name": name, **fields}}, Object) for name, fields in objects.items()}
    return CustomLabels(labels, lambda source, key: found.get(key.name))


def test_series_carry_the_label_of_their_queue():
    custom = labelled(TEAM, q={"labels": {"example.com/team": "red"}})
    metrics = AgentMetrics(custom=custom)
    metrics.finished(Queues("q", "ns", "lq", ""), None)
    text = generate_latest(metrics.registry).decode()
    assert 'kueue_finished_workloads_total{cluster_queue="q",custom_team="red"' in text
    assert 'local_queue_finished_workloads_total{name="lq",namespace="ns",priority_class="",replica' in text


def test_values_nobody_tracks_share_one_series():
    metrics = AgentMetrics(custom=labelled(TIER))
    for tier in ("gold", "tin", "lead"):
        workload = ObjectMeta(annotations={"tier": tier})
        metrics.admitted(Queues("q", "ns", "lq", "", workload), 1.0, 1.0)
    text = generate_latest(metrics.registry).decode()
    row = 'name="lq",namespace="ns",priority_class="",replica_role="standalone"} '
    assert 'kueue_local_queue_admitted_workloads_total{custom_tier="gold",' + row + "1.0" in text
    assert f'{{custom_tier="{UNTRACKED}",{row}2.0' in text


def test_waiting_and_running_workloads_are_told_apart_by_their_labels():
    running, waiting = builders.admitted("a", cpu=4), builders.workload("b", cpu=4)
    running["metadata"]["annotations"] = waiting["metadata"]["annotations"] = {"tier": "gold"}
    world = EngineWorld([*builders.single_queue(cpu=4), running, waiting])
    custom, source = labelled(TIER), Watch()
    tallies = WorkloadTallies(source, custom)
    for document in (running, waiting):
        source.tell(Event(EventType.ADDED, Key("ns", "x"), None, typed(document)))
    registry = CollectorRegistry()
    shown = Shown(custom=custom)
    registry.register(ViewCollector(lambda: world.state.publish(world.now), lambda: "leader", shown, tallies))
    text = generate_latest(registry).decode()
    assert (
        'kueue_pending_workloads{cluster_queue="q",custom_tier="gold",replica_role="leader",status="active"} 1.0'
        in text
    )
    assert 'kueue_admitted_active_workloads{cluster_queue="q",custom_tier="gold",replica_role="leader"} 1.0' in text


# -- what comes and goes -----------------------------------------------------------------------------------------------


def test_series_go_with_their_queue():
    metrics = AgentMetrics()
    for name in ("q", "other"):
        metrics.finished(Queues(name, "ns", name, ""), 1.0)
    metrics.forget_cluster_queue("q")
    metrics.forget_local_queue(Key("ns", "q"))
    text = generate_latest(metrics.registry).decode()
    assert '"q"' not in text
    assert 'cluster_queue="other"' in text


def test_a_cycle_without_skips_says_so():
    metrics = AgentMetrics()
    metrics.preemption_skips({"q": 2})
    metrics.preemption_skips({})
    text = generate_latest(metrics.registry).decode()
    assert 'kueue_admission_cycle_preemption_skips{cluster_queue="q",replica_role="standalone"} 0.0' in text


def test_workloads_that_wait_are_counted_by_what_holds_them_up():
    source = Watch()
    tallies = WorkloadTallies(source, CustomLabels())
    waiting = typed(builders.workload("w"))
    short = builders.workload("w")
    condition = {"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota", "message": ""}
    short["status"] = {"conditions": [condition]}
    source.tell(Event(EventType.ADDED, waiting.metadata.key, None, waiting))
    assert dict(tallies.unadmitted()) == {(Key("ns", "lq"), "NoReservation", "PendingEvaluation"): 1}
    source.tell(Event(EventType.MODIFIED, waiting.metadata.key, waiting, typed(short)))
    assert dict(tallies.unadmitted()) == {(Key("ns", "lq"), "NoReservation", "WaitingForQuota"): 1}
    ended = builders.admitted("w")
    ended["status"]["conditions"].append({**condition, "type": "Finished", "status": "True"})
    source.tell(Event(EventType.MODIFIED, waiting.metadata.key, typed(short), typed(ended)))
    assert dict(tallies.unadmitted()) == {}
    assert dict(tallies.finished()) == {(Key("ns", "lq"), "q"): 1}
    source.tell(Event(EventType.DELETED, waiting.metadata.key, typed(ended), None))
    assert dict(tallies.finished()) == {}

"""Every metric of Kueue: its name, kind, labels and buckets, as a scrape shows them after the engine has worked."""

import itertools
import math
import re

import msgspec
import pytest
from prometheus_client.exposition import generate_latest

from tests import builders
from tests.engine_world import EngineWorld
from tests.unit.agent.test_metrics import Watch
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.app.agent_metrics import build
from worker_agent.app.view_metrics import Shown, ViewCollector
from worker_agent.controllers.workload_metrics import WorkloadMetrics
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.engine.policy import resolve
from worker_agent.kube.informer import Event, EventType
from worker_agent.metrics import AgentMetrics, Queues

E14 = [1.0, *(2.5 * 2**i for i in range(13)), math.inf]
E16 = [1.0, *(2.5 * 2**i for i in range(15)), math.inf]
GO = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf]
LATENCY = [0.01 * 2**i for i in range(11)] + [math.inf]

QUEUE, LOCAL, CLASS = ("cluster_queue",), ("name", "namespace"), ("priority_class",)
CAUSES = ("reason", "underlying_cause")
AMOUNTS = ("cohort", "cluster_queue", "flavor", "resource")

COUNTERS = {
    "admission_attempts_total": ("result",),
    "preemption_target_recomputations_total": ("cluster_queue", "result"),
    "quota_reserved_workloads_total": QUEUE + CLASS,
    "local_queue_quota_reserved_workloads_total": LOCAL + CLASS,
    "finished_workloads_total": QUEUE + CLASS,
    "local_queue_finished_workloads_total": LOCAL + CLASS,
    "admitted_workloads_total": QUEUE + CLASS,
    "local_queue_admitted_workloads_total": LOCAL + CLASS,
    "evicted_workloads_total": QUEUE + CAUSES + CLASS,
    "local_queue_evicted_workloads_total": LOCAL + CAUSES + CLASS,
    "evicted_workloads_once_total": QUEUE + CAUSES + CLASS,
    "replaced_workload_slices_total": QUEUE,
    "preempted_workloads_total": ("preempting_cluster_queue", "reason"),
    "cohort_subtree_admitted_workloads_total": ("cohort", *CLASS),
}
GAUGES = {
    "admission_cycle_preemption_skips": QUEUE,
    "pending_workloads": (*QUEUE, "status"),
    "pending_scheduling_hashes": (*QUEUE, "status"),
    "local_queue_pending_workloads": (*LOCAL, "status"),
    "finished_workloads": QUEUE,
    "local_queue_finished_workloads": LOCAL,
    "reserving_active_workloads": QUEUE,
    "local_queue_reserving_active_workloads": LOCAL,
    "admitted_active_workloads": QUEUE,
    "local_queue_admitted_active_workloads": LOCAL,
    "cluster_queue_status": (*QUEUE, "status"),
    "local_queue_status": (*LOCAL, "active"),
    "unadmitted_workloads": QUEUE + CAUSES,
    "local_queue_unadmitted_workloads": LOCAL + QUEUE + CAUSES,
    "cluster_queue_resource_reservation": AMOUNTS,
    "cluster_queue_resource_usage": AMOUNTS,
    "cluster_queue_nominal_quota": AMOUNTS,
    "cluster_queue_borrowing_limit": AMOUNTS,
    "cluster_queue_lending_limit": AMOUNTS,
    "cluster_queue_resource_pending": (*QUEUE, "resource"),
    "local_queue_resource_reservation": (*LOCAL, "flavor", "resource"),
    "local_queue_resource_usage": (*LOCAL, "flavor", "resource"),
    "local_queue_admission_fair_sharing_usage": LOCAL + QUEUE,
    "cluster_queue_weighted_share": (*QUEUE, "cohort"),
    "cohort_weighted_share": ("cohort",),
    "cohort_subtree_quota": ("cohort", "flavor", "resource"),
    "cohort_subtree_resource_reservations": ("cohort", "flavor", "resource"),
    "cohort_subtree_admitted_active_workloads": ("cohort",),
    "cohort_info": ("cohort", "parent_cohort", "root_cohort"),
    "cluster_queue_info": (*QUEUE, "parent_cohort", "root_cohort"),
}
HISTOGRAMS = {
    "admission_attempt_duration_seconds": (("result",), GO),
    "execution_time_seconds": (QUEUE + CLASS, E16),
    "local_queue_execution_time_seconds": (LOCAL + CLASS, E16),
    "quota_reserved_wait_time_seconds": (QUEUE + CLASS, E14),
    "local_queue_quota_reserved_wait_time_seconds": (LOCAL + CLASS, E14),
    "pods_ready_to_evicted_time_seconds": (QUEUE + CAUSES, E14),
    "admission_wait_time_seconds": (QUEUE + CLASS, E16),
    "local_queue_admission_wait_time_seconds": (LOCAL + CLASS, E14),
    "ready_wait_time_seconds": (QUEUE + CLASS, E14),
    "local_queue_ready_wait_time_seconds": (LOCAL + CLASS, E14),
    "admitted_until_ready_wait_time_seconds": (QUEUE + CLASS, E14),
    "local_queue_admitted_until_ready_wait_time_seconds": (LOCAL + CLASS, E14),
    "admission_checks_wait_time_seconds": (QUEUE + CLASS, E14),
    "local_queue_admission_checks_wait_time_seconds": (LOCAL + CLASS, E14),
    "workload_creation_latency_seconds": (("job_kind",), LATENCY),
    "pod_scheduling_gate_removal_seconds": (("name", *QUEUE, "is_group"), GO),
    "workload_eviction_latency_seconds": ((*QUEUE, "reason"), E14),
}
SHARING = {"usageHalfLifeTime": 3600, "usageSamplingInterval": 300}
SPEC = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


def world():
    """A queue below two cohorts: one job runs in it, borrowing; one waits."""
    policy = resolve({}, {"fairSharing": {}, "admissionFairSharing": SHARING})
    amounts = {"default": {"cpu": builders.quota(2, borrowing=4)}}
    return EngineWorld(
        [
            builders.namespace(),
            builders.flavor(),
            builders.cohort("root", {"default": {"cpu": 4}}),
            builders.cohort("leaf", parent="root"),
            builders.cluster_queue("q", amounts, cohort="leaf", **SPEC),
            builders.local_queue(),
            builders.workload("runs", cpu=3),
            builders.workload("waits", cpu=9),
        ],
        policy,
    )


def told(metrics, made, tallied):
    """One life of a Workload, as the watch shows it, and what controllers say beside it."""
    queue = msgspec.convert(builders.local_queue(), LocalQueue)
    watch = Watch()
    WorkloadMetrics(watch, Watch({Key("ns", "lq"): queue}), metrics, lambda name: ("leaf", "root"))
    tallies = WorkloadTallies(tallied, metrics.custom)
    typed = [msgspec.json.decode(msgspec.json.encode(form), type=Workload) for form in life()]
    for old, new in itertools.pairwise(typed):
        watch.tell(Event(EventType.MODIFIED, new.metadata.key, old, new))
    for _, document in made.workloads():
        workload = msgspec.json.decode(msgspec.json.encode(document), type=Workload)
        tallied.tell(Event(EventType.ADDED, workload.metadata.key, None, workload))
    queues = Queues("q", "ns", "lq", "")
    metrics.preempted("q", "InClusterQueue")
    metrics.recomputed({"q": {"new_targets": 1}})
    metrics.preemption_skips({"q": 1})
    metrics.workload_created("Job", 0.1)
    metrics.gate_removed("kueue.x-k8s.io/topology", "q", 1.0, group=False)
    metrics.slice_replaced(queues)
    return tallies


def life():
    yield builders.workload("w")
    admitted = builders.admitted("w")
    yield admitted
    ready = with_condition(admitted, "PodsReady", "Started")
    yield ready
    entry = {"reason": "Preempted", "underlyingCause": "", "count": 1}
    evicted = with_condition(ready, "Evicted", "Preempted")
    evicted["status"]["schedulingStats"] = {"evictions": [entry]}
    yield evicted
    released = msgspec.json.decode(msgspec.json.encode(evicted))
    for condition in released["status"]["conditions"]:
        if condition["type"] in ("QuotaReserved", "Admitted"):
            condition["status"] = "False"
    del released["status"]["admission"]
    yield released
    yield admitted
    yield with_condition(admitted, "Finished", "Succeeded")


def with_condition(workload, type_, reason):
    made = msgspec.json.decode(msgspec.json.encode(workload))
    at = "2026-01-01T10:30:00Z"
    made["status"]["conditions"].append(
        {"type": type_, "status": "True", "reason": reason, "message": "", "lastTransitionTime": at}
    )
    return made


@pytest.fixture(scope="module")
def scraped():
    made = world()
    metrics = AgentMetrics()
    metrics.built(build())
    plan = made.cycle()
    metrics.cycle(bool(plan.admissions), 0.01)
    made.settle()
    made.finish("ns/runs")
    made.put(builders.workload("next", cpu=3))
    made.settle()
    made.state.sample_usage(made.now)
    tallies = told(metrics, made, Watch())
    view = made.state.publish(made.now)
    shown = Shown(resources=True)
    metrics.registry.register(ViewCollector(lambda: view, lambda: metrics.role, shown, tallies))
    return parsed(generate_latest(metrics.registry).decode())


def parsed(text):
    """Name -> (kind, label names of its series, upper bounds of buckets)."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    found = {}
    for name, labels in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.MULTILINE):
        values = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        base = name.removesuffix("_bucket")
        kind = kinds.get(base) or kinds.get(name)
        _, names, bounds = found.setdefault(base, (kind, set(values) - {"le"}, []))
        assert names == set(values) - {"le"}, f"{name}: series with different labels"
        if "le" in values and float(values["le"]) not in bounds:
            bounds.append(float(values["le"]))
    return found


@pytest.mark.parametrize("name", COUNTERS)
def test_counters(scraped, name):
    assert scraped[f"kueue_{name}"][:2] == ("counter", {*COUNTERS[name], "replica_role"})


@pytest.mark.parametrize("name", GAUGES)
def test_gauges(scraped, name):
    assert scraped[f"kueue_{name}"][:2] == ("gauge", {*GAUGES[name], "replica_role"})


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms(scraped, name):
    labels, bounds = HISTOGRAMS[name]
    assert scraped[f"kueue_{name}"] == ("histogram", {*labels, "replica_role"}, pytest.approx(bounds))


def test_what_is_running_is_told_without_a_role(scraped):
    labels = {"git_version", "git_commit", "build_date", "go_version", "compiler", "platform"}
    assert scraped["kueue_build_info"][:2] == ("gauge", labels)


def test_there_is_no_metric_beside_these(scraped):
    known = {f"kueue_{name}" for name in (*COUNTERS, *GAUGES, *HISTOGRAMS, "build_info")}
    suffixes = ("_sum", "_count", "_created")
    others = {name for name in scraped if name.startswith("kueue_") and name not in known}
    assert {name for name in others if not name.endswith(suffixes)} == set()

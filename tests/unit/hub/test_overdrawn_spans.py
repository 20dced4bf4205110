"""When a workload that waits for a cluster loses its quota because the workers have less room than was promised."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import msgspec

from hub.controllers.overdrawn_spans import OverdrawnSpans
from hub.engine.overdrawn_span import PATIENCE_SECONDS
from tests.builders import cluster_queue, cohort, quota
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine.intents import ApplyStatus, RecordEvent, RequeueAfter

CPU = ("default", "cpu")
CHECK = {"metadata": {"name": "mk"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def document(name, **status):
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    usage = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}}
    return {
        "metadata": {"namespace": "ns", "name": name, "uid": name},
        "spec": {"podSets": [], "queueName": "lq"},
        "status": {
            "conditions": [reserved],
            "admission": {"clusterQueue": "q", "podSetAssignments": [usage]},
            "admissionChecks": [{"name": "mk", "state": "Pending", "message": ""}],
            **status,
        },
    }


class Time:
    def __init__(self):
        self.passed = 0.0

    def monotonic(self):
        return self.passed

    def now(self):
        return NOW + timedelta(seconds=self.passed)


class World:
    """One queue in the cohort ``all``, which has quota for two cpus; ``documents`` are the manager's Workloads."""

    def __init__(self, *documents):
        self.time = Time()
        self.held = len(documents)
        self._cohorts = [msgspec.convert(cohort("all", {"default": {"cpu": quota(2)}}), Cohort, strict=False)]
        queue = msgspec.convert(cluster_queue("q", cpu=0, cohort="all"), ClusterQueue, strict=False)
        self._documents = {Key("ns", each["metadata"]["name"]): each for each in documents}
        objects = SimpleNamespace(
            queues={"q": queue},
            workloads=self,
            workload=self._documents.get,
            admission_check=lambda name: msgspec.convert(CHECK, AdmissionCheck, strict=False),
        )
        self._spans = OverdrawnSpans(objects, lambda: {"q": {CPU: 1000 * self.held}}, self.time)

    def by_index(self, index, queue):
        return [msgspec.convert(each, Workload, strict=False) for each in self._documents.values()]

    def decide(self, *, after=0.0):
        self.time.passed += after
        return self._spans.decide("all", self._cohorts)


RUNNING = {"clusterName": "east", "admissionChecks": [{"name": "mk", "state": "Ready", "message": ""}]}
HELD = (document("a", **RUNNING), document("b", **RUNNING))


def evicted(intents):
    return {intent.key.name for intent in intents if isinstance(intent, ApplyStatus)}


def test_it_queues_again_after_a_while_and_is_told_why():
    world = World(*HELD, document("w"))
    assert world.decide() == [RequeueAfter(PATIENCE_SECONDS)]
    intents = world.decide(after=PATIENCE_SECONDS)
    assert evicted(intents) == {"w"}
    (status,) = (intent for intent in intents if isinstance(intent, ApplyStatus))
    assert status.fields["admissionChecks"][0]["state"] == "Pending"
    assert "requeueState" not in status.fields
    assert any('leave less to Cohort "all"' in intent.message for intent in intents if isinstance(intent, RecordEvent))


def test_what_is_missing_for_a_moment_only_costs_nobody_anything():
    world = World(*HELD, document("w"))
    world.decide()
    world.held = 2
    assert world.decide(after=PATIENCE_SECONDS / 2) == []
    world.held = 3
    assert world.decide(after=PATIENCE_SECONDS) == [RequeueAfter(PATIENCE_SECONDS)]


def test_work_that_runs_is_left_to_its_worker():
    world = World(*HELD, document("c", **RUNNING))
    world.decide()
    assert world.decide(after=PATIENCE_SECONDS) == []


def test_work_that_is_on_its_way_out_makes_room_by_itself():
    leaving = {"type": "Evicted", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    gone = document("a", **RUNNING)
    gone["status"]["conditions"].append(leaving)
    assert World(gone, document("b", **RUNNING), document("w")).decide() == []

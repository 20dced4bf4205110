"""The world of a fuzz scenario: the steps of its script (fuzz/README) on a test cluster of one engine."""

from tests.conformance import engine_objects
from tests.conformance.case import Document
from tests.engine_world import EngineWorld, condition_of, is_true
from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.engine import policy

STOPPED = "ClusterQueueStopped"


class World(EngineWorld):
    """``step`` runs one step of the script."""

    def __init__(self, case: Document) -> None:
        configuration: Document = {}
        if case.get("fairSharing"):
            configuration["fairSharing"] = {"preemptionStrategies": case.get("preemptionStrategies") or []}
        resolved = policy.resolve(case["featureGates"], configuration)
        super().__init__(case["objects"], resolved, timestamps.parse(case["startTime"]))

    def step(self, step: Document) -> None:
        match step["op"]:
            case "advance":
                self.advance(step["seconds"])
                self.observe()
            case "create":
                self.put(step["object"])
            case "finish":
                self.finish(step["workload"])
            case "delete":
                self.delete(step["workload"])
            case "update":
                self._update(step["object"])
            case "evictions":
                self._evictions()
            case "cycle":
                self.cycle()
            case unknown:
                raise ValueError(f"unknown step {unknown}")

    def _update(self, document: Document) -> None:
        key = engine_objects.key_of(document)
        before = self.objects[document["kind"], key]
        self.objects[document["kind"], key] = document
        engine_objects.put(self.state, document, self.now)
        if document["kind"] == "ClusterQueue":
            self._apply_stop_policy(key.name, _stop_policy(before), _stop_policy(document))
        self.observe()

    def _apply_stop_policy(self, name: str, before: str, after: str) -> None:
        for key, workload in self.workloads():
            if after == "HoldAndDrain" and _runs_in(workload, name):
                self.set(key, "Evicted", True, STOPPED, "The ClusterQueue is stopped")
            if after == "None" and before != "None" and self._queue_of(workload) == name:
                requeued = condition_of(workload, "Requeued")
                if requeued and requeued["status"] == "False" and requeued["reason"] == STOPPED:
                    self.set(key, "Requeued", True, "ClusterQueueRestarted", "")

    def _evictions(self) -> None:
        for key, workload in self.workloads():
            evicted = condition_of(workload, "Evicted")
            if evicted and evicted["status"] == "True" and workload.get("status", {}).get("admission"):
                self.set(key, "Requeued", evicted["reason"] == "Preempted", evicted["reason"], evicted["message"])
                self.set(key, "QuotaReserved", False, "PendingEvaluation", evicted["message"])
                self.set(key, "Admitted", False, "NoReservation", "The workload has no reservation")
                del workload["status"]["admission"]
        self.observe()

    def _queue_of(self, workload: Document) -> str:
        key = Key(workload["metadata"]["namespace"], workload["spec"]["queueName"])
        return str(self.objects["LocalQueue", key]["spec"]["clusterQueue"])


def _runs_in(workload: Document, cluster_queue: str) -> bool:
    if not is_true(workload, "Admitted") or is_true(workload, "Evicted"):
        return False
    return bool(workload["status"]["admission"]["clusterQueue"] == cluster_queue)


def _stop_policy(document: Document) -> str:
    return str(document["spec"].get("stopPolicy") or "None")

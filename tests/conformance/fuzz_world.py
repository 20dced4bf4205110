"""The world around the engine in a fuzz scenario: objects, clock, and what controllers do between cycles."""

from datetime import timedelta
from typing import Any

from tests.conformance import engine_objects
from tests.conformance.case import Document
from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.engine import policy as policies
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.plan import Admit, Plan, Preempt, Requeue
from worker_agent.engine.state import ClusterState

STOPPED = "ClusterQueueStopped"


class World:
    """One scenario. ``step`` runs a step of the script; the plan of the last cycle is in ``plan``, None for a no-op."""

    def __init__(self, case: Document) -> None:
        configuration: Document = {}
        if case.get("fairSharing"):
            configuration["fairSharing"] = {"preemptionStrategies": case.get("preemptionStrategies") or []}
        self.policy = policies.resolve(case["featureGates"], configuration)
        self.state = ClusterState(self.policy)
        self.now = timestamps.parse(case["startTime"])
        self.objects: dict[tuple[str, Key], Document] = {}
        self.changed: dict[Key, None] = {}
        self.plan: Plan | None = None
        for document in case["objects"]:
            self.objects[document["kind"], engine_objects.key_of(document)] = document
        engine_objects.load(self.state, case["objects"], self.now)
        self.state.flush_requeues(self.now)

    def step(self, step: Document) -> None:
        getattr(self, "_" + step["op"])(step)
        self._observe()

    def workload(self, key: Key) -> Document:
        return self.objects["Workload", key]

    # -- the script ------------------------------------------------------------------------------------------------

    def _advance(self, step: Document) -> None:
        self.now += timedelta(seconds=step["seconds"])

    def _create(self, step: Document) -> None:
        key = engine_objects.key_of(step["object"])
        self.objects["Workload", key] = step["object"]
        self.changed[key] = None

    def _finish(self, step: Document) -> None:
        key = Key.parse(step["workload"])
        self._set(key, "Finished", True, "Succeeded", "")

    def _delete(self, step: Document) -> None:
        key = Key.parse(step["workload"])
        del self.objects["Workload", key]
        self.changed[key] = None

    def _update(self, step: Document) -> None:
        document = step["object"]
        key = engine_objects.key_of(document)
        before = self.objects[document["kind"], key]
        self.objects[document["kind"], key] = document
        engine_objects.put(self.state, document, self.now)
        if document["kind"] == "ClusterQueue":
            self._apply_stop_policy(key.name, _stop_policy(before), _stop_policy(document))

    def _apply_stop_policy(self, name: str, before: str, after: str) -> None:
        for key, workload in self._workloads():
            if after == "HoldAndDrain" and _runs_in(workload, name):
                self._set(key, "Evicted", True, STOPPED, "The ClusterQueue is stopped")
            if after == "None" and before != "None" and self._queue_of(workload) == name:
                requeued = _condition(workload, "Requeued")
                if requeued and requeued["status"] == "False" and requeued["reason"] == STOPPED:
                    self._set(key, "Requeued", True, "ClusterQueueRestarted", "")

    def _evictions(self, _: Document) -> None:
        for key, workload in self._workloads():
            evicted = _condition(workload, "Evicted")
            if evicted and evicted["status"] == "True" and workload.get("status", {}).get("admission"):
                self._set(key, "Requeued", evicted["reason"] == "Preempted", evicted["reason"], evicted["message"])
                self._set(key, "QuotaReserved", False, "PendingEvaluation", evicted["message"])
                self._set(key, "Admitted", False, "NoReservation", "The workload has no reservation")
                del workload["status"]["admission"]

    def _cycle(self, _: Document) -> None:
        heads = self.state.heads(self.now)
        if not heads:
            self.plan = None
            return
        self.plan = run_cycle(self.state, heads, self.policy, self.now)
        for planned in self.plan:
            if isinstance(planned, Admit):
                self._admit(planned)
            elif isinstance(planned, Preempt):
                self._set(planned.key, "Evicted", True, "Preempted", planned.message)
                self._set(planned.key, "Preempted", True, planned.reason, planned.message)
            else:
                self._refuse(planned)

    # -- what the shell would write ----------------------------------------------------------------------------------

    def _admit(self, step: Admit) -> None:
        status = self._status(step.key)
        status["admission"] = step.admission
        status.pop("resourceRequests", None)
        self._set(step.key, "QuotaReserved", True, step.reason, step.message)
        if step.admitted:
            self._set(step.key, "Admitted", True, "Admitted", "The workload is admitted")
        for type_ in ("Evicted", "Preempted"):
            condition = _condition(self.workload(step.key), type_)
            if condition and condition["status"] == "True":
                self._set(step.key, type_, False, "QuotaReserved", f"Previously: {condition['message']}")

    def _refuse(self, step: Requeue) -> None:
        status = self._status(step.key)
        requests = list(step.resource_requests)
        before = _condition(self.workload(step.key), "QuotaReserved") or {}
        said = (before.get("status"), before.get("reason"), before.get("message"), status.get("resourceRequests"))
        if said != ("False", step.reason, step.message, requests):
            status["resourceRequests"] = requests
            self._set(step.key, "QuotaReserved", False, step.reason, step.message)
            self._set(step.key, "Admitted", False, "NoReservation", "The workload has no reservation")

    def _status(self, key: Key) -> Document:
        status: Document = self.workload(key).setdefault("status", {})
        return status

    def _set(self, key: Key, type_: str, on: bool, reason: str, message: str) -> None:
        conditions = self._status(key).setdefault("conditions", [])
        found = _condition(self.workload(key), type_)
        if found is None:
            found = {"type": type_, "status": ""}
            conditions.append(found)
        if found["status"] != str(on):
            found["lastTransitionTime"] = timestamps.rfc3339(self.now)
        found.update(status=str(on), reason=reason, message=message)
        self.changed[key] = None

    def _observe(self) -> None:
        for key in sorted(self.changed, key=lambda key: (key.name, key.namespace)):
            document = self.objects.get(("Workload", key))
            if document is None:
                self.state.delete_workload(key, self.now)
            else:
                engine_objects.put(self.state, document, self.now)
        self.changed.clear()
        self.state.flush_requeues(self.now)

    def _workloads(self) -> list[tuple[Key, Document]]:
        found = [(key, document) for (kind, key), document in self.objects.items() if kind == "Workload"]
        return sorted(found, key=lambda item: item[0].name)

    def _queue_of(self, workload: Document) -> str:
        key = Key(workload["metadata"]["namespace"], workload["spec"]["queueName"])
        return str(self.objects["LocalQueue", key]["spec"]["clusterQueue"])


def _condition(workload: Document, type_: str) -> Document | None:
    conditions: list[Any] = workload.get("status", {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == type_), None)


def _is_true(workload: Document, type_: str) -> bool:
    condition = _condition(workload, type_)
    return condition is not None and condition["status"] == "True"


def _runs_in(workload: Document, cluster_queue: str) -> bool:
    if not _is_true(workload, "Admitted") or _is_true(workload, "Evicted"):
        return False
    return bool(workload["status"]["admission"]["clusterQueue"] == cluster_queue)


def _stop_policy(document: Document) -> str:
    return str(document["spec"].get("stopPolicy") or "None")

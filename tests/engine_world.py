"""A cluster of one engine for tests: an object store, a clock, and the status writes that controllers would do.

``cycle`` runs one scheduling cycle and writes what it decided; ``observe`` shows the engine what changed, as informers
would, and wakes parked workloads at once.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from tests.conformance import engine_objects
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.plan import Admit, Evict, Plan, Preempt, Requeue
from worker_agent.engine.policy import DEFAULT, Policy
from worker_agent.engine.preemption.search import PreemptionSearch
from worker_agent.engine.state import ClusterState

START = timestamps.parse("2026-01-01T12:00:00Z")


class EngineWorld:
    """``plan`` is the last cycle's, None when there was no head."""

    def __init__(self, objects: Iterable[Document] = (), policy: Policy = DEFAULT, now: datetime = START) -> None:
        self.policy = policy
        self.state = ClusterState(policy)
        self.now = now
        self.objects: dict[tuple[str, Key], Document] = {}
        self.changed: dict[Key, None] = {}
        self.plan: Plan | None = None
        self.search: PreemptionSearch | None = None
        known = list(objects)
        for document in known:
            self.objects[document["kind"], engine_objects.key_of(document)] = document
        engine_objects.load(self.state, known, now)
        self.state.flush_requeues(now)

    # -- what happens ----------------------------------------------------------------------------------------------

    def put(self, *documents: Document) -> None:
        """Create or replace objects, and show them to the engine."""
        for document in documents:
            key = engine_objects.key_of(document)
            self.objects[document["kind"], key] = document
            if document["kind"] == "Workload":
                self.changed[key] = None
            else:
                engine_objects.put(self.state, document, self.now)
        self.observe()

    def delete(self, key: str) -> None:
        del self.objects["Workload", Key.parse(key)]
        self.changed[Key.parse(key)] = None
        self.observe()

    def finish(self, key: str) -> None:
        self.set(Key.parse(key), "Finished", True, "Succeeded", "")
        self.observe()

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def cycle(self) -> Plan:
        """One cycle with its writes observed; an empty plan when there was no head."""
        self.decide()
        self.observe()
        return self.plan or Plan()

    def settle(self) -> None:
        """Cycles until nothing is admitted any more."""
        while self.cycle().progressed:
            pass

    def decide(self) -> None:
        heads = self.state.heads(self.now)
        self.plan = run_cycle(self.state, heads, self.policy, self.now, self.search) if heads else None
        for planned in self.plan or ():
            if isinstance(planned, Admit):
                self._admit(planned)
            elif isinstance(planned, Preempt):
                self.set(planned.key, "Evicted", True, "Preempted", planned.message)
                self.set(planned.key, "Preempted", True, planned.reason, planned.message)
            elif isinstance(planned, Evict):
                self.set(planned.key, "Evicted", True, planned.reason, planned.message)
                self._status(planned.key).pop("unhealthyNodes", None)
            elif isinstance(planned, Requeue):
                self._refuse(planned)

    def observe(self) -> None:
        """The engine sees all changed Workloads, by name, then wakes what they concern."""
        for key in sorted(self.changed, key=lambda key: (key.name, key.namespace)):
            document = self.objects.get(("Workload", key))
            if document is None:
                self.state.delete_workload(key, self.now)
            else:
                engine_objects.put(self.state, document, self.now)
        self.changed.clear()
        self.state.flush_requeues(self.now)

    # -- what is there ---------------------------------------------------------------------------------------------

    def workload(self, key: Key) -> Document:
        return self.objects["Workload", key]

    def workloads(self) -> list[tuple[Key, Document]]:
        found = [(key, document) for (kind, key), document in self.objects.items() if kind == "Workload"]
        return sorted(found, key=lambda item: item[0].name)

    def reason(self, key: str) -> str:
        """Why a workload has no quota."""
        condition = condition_of(self.workload(Key.parse(key)), "QuotaReserved") or {}
        return str(condition.get("reason", ""))

    def message(self, key: str) -> str:
        condition = condition_of(self.workload(Key.parse(key)), "QuotaReserved") or {}
        return str(condition.get("message", ""))

    def active(self, queue: str) -> list[str]:
        return [key.name for key in self.state.pending[queue].active()]

    def parked(self, queue: str) -> list[str]:
        return sorted(key.name for key in self.state.pending[queue].parked)

    # -- what the shell would write ----------------------------------------------------------------------------------

    def set(self, key: Key, type_: str, on: bool, reason: str, message: str) -> None:
        """Set a condition; the time changes only with the status."""
        conditions = self._status(key).setdefault("conditions", [])
        found = condition_of(self.workload(key), type_)
        if found is None:
            found = {"type": type_, "status": ""}
            conditions.append(found)
        if found["status"] != str(on):
            found["lastTransitionTime"] = timestamps.rfc3339(self.now)
        found.update(status=str(on), reason=reason, message=message)
        generation = self.workload(key)["metadata"].get("generation")
        if generation:
            found["observedGeneration"] = generation
        self.changed[key] = None

    def _admit(self, step: Admit) -> None:
        status = self._status(step.key)
        status["admission"] = step.admission
        status.pop("resourceRequests", None)
        status.pop("unhealthyNodes", None)
        self.set(step.key, "QuotaReserved", True, step.reason, step.message)
        if step.admitted:
            self.set(step.key, "Admitted", True, "Admitted", "The workload is admitted")
        else:
            self.set(step.key, "Admitted", False, "UnsatisfiedAdmissionChecks", "The workload has not all checks ready")
        for type_ in ("Evicted", "Preempted"):
            condition = condition_of(self.workload(step.key), type_)
            if condition and condition["status"] == "True":
                self.set(step.key, type_, False, "QuotaReserved", f"Previously: {condition['message']}")

    def _refuse(self, step: Requeue) -> None:
        status = self._status(step.key)
        requests = list(step.resource_requests)
        before = condition_of(self.workload(step.key), "QuotaReserved") or {}
        said = (before.get("status"), before.get("reason"), before.get("message"), status.get("resourceRequests"))
        if said != ("False", step.reason, step.message, requests):
            status["resourceRequests"] = requests
            self.set(step.key, "QuotaReserved", False, step.reason, step.message)
            self.set(step.key, "Admitted", False, "NoReservation", "The workload has no reservation")

    def _status(self, key: Key) -> Document:
        status: Document = self.workload(key).setdefault("status", {})
        return status


def condition_of(workload: Document, type_: str) -> Document | None:
    conditions: list[Any] = workload.get("status", {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == type_), None)


def is_true(workload: Document, type_: str) -> bool:
    condition = condition_of(workload, type_)
    return condition is not None and condition["status"] == "True"

"""A cluster of one engine without a cluster: objects, a clock, and the status writes that controllers would do.

``cycle`` runs one production cycle and writes what it decided; ``observe`` shows the engine what changed, as informers
would, and wakes parked workloads at once. The rules are those of recorded scenarios (``story_script`` names the steps).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import cycle, story_objects
from worker_agent.engine.plan import Admit, Evict, Plan, Preempt, Requeue, Step
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption.search import PreemptionSearch
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story_objects import WORKLOAD, StoryError

STOPPED: Final = names.EVICTED_CLUSTER_QUEUE_STOPPED


class StoryWorld:
    """``state`` is the engine's, ``objects`` are the documents of all objects by kind and key."""

    def __init__(self, objects: Iterable[Document], policy: Policy, now: datetime) -> None:
        self.policy = policy
        self.state = ClusterState(policy)
        self.now = now
        self.objects: dict[tuple[str, Key], Document] = {}
        self.search: PreemptionSearch | None = None
        """In the place of the engine's own search for victims, where somebody wants to say who they are."""
        self.changed: dict[Key, None] = {}
        """Workloads that look different to what the engine was shown."""
        known = list(objects)
        for document in known:
            self.objects[str(document.get("kind")), story_objects.key_of(document)] = document
        story_objects.load(self.state, known, now)
        self.state.flush_requeues(now)

    # -- what happens ----------------------------------------------------------------------------------------------

    def put(self, document: Document) -> None:
        """Create or replace an object, and show it to the engine."""
        key = story_objects.key_of(document)
        story_objects.put(self.state, document, self.now)
        self.objects[str(document["kind"]), key] = document
        self.observe()

    def delete(self, kind: str, key: Key) -> None:
        """Raises StoryError where there is no such object."""
        if self.objects.pop((kind, key), None) is None:
            raise StoryError(f"{kind} {key} does not exist at this point")
        story_objects.remove(self.state, kind, key, self.now)
        self.observe()

    def finish(self, key: Key) -> None:
        self.set(key, names.FINISHED, True, "Succeeded", "")
        self.observe()

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.observe()

    def replace_queue(self, document: Document) -> None:
        """A ClusterQueue or Cohort as it is from now on, with what its stopPolicy does to workloads."""
        kind, key = str(document.get("kind")), story_objects.key_of(document)
        before = self.objects.get((kind, key), {})
        story_objects.put(self.state, document, self.now)
        self.objects[kind, key] = document
        if kind == "ClusterQueue":
            self._apply_stop_policy(key.name, _stop_policy(before), _stop_policy(document))
        self.observe()

    def release_evicted(self) -> list[Key]:
        """Jobs of evicted workloads have stopped: their quota goes back. Returns those, by name."""
        released = []
        for key, workload in self.workloads():
            evicted = condition_of(workload, names.EVICTED)
            if evicted and evicted["status"] == "True" and workload.get("status", {}).get("admission"):
                self.set(key, names.REQUEUED, evicted["reason"] == "Preempted", evicted["reason"], evicted["message"])
                self.set(key, names.QUOTA_RESERVED, False, names.PENDING_EVALUATION, evicted["message"])
                self.set(key, names.ADMITTED, False, "NoReservation", "The workload has no reservation")
                del workload["status"]["admission"]
                released.append(key)
        self.observe()
        return released

    def cycle(self) -> Plan | None:
        """One cycle, its writes and what the engine sees of them; None when no queue had a head."""
        plan = self.decide()
        self.observe()
        return plan

    def decide(self) -> Plan | None:
        """One cycle and its writes, which the engine has not seen yet."""
        heads = self.state.heads(self.now)
        if not heads:
            return None
        plan = cycle.run_cycle(self.state, heads, self.policy, self.now, self.search)
        for step in plan:
            self._write(step)
        return plan

    def observe(self) -> None:
        """The engine sees all changed Workloads, by name, then wakes what they concern."""
        for key in sorted(self.changed, key=lambda key: (key.name, key.namespace)):
            document = self.objects.get((WORKLOAD, key))
            if document is None:
                self.state.delete_workload(key, self.now)
            else:
                story_objects.put(self.state, document, self.now)
        self.changed.clear()
        self.state.flush_requeues(self.now)

    # -- what is there ---------------------------------------------------------------------------------------------

    def workload(self, key: Key) -> Document:
        """Raises StoryError where there is none."""
        found = self.objects.get((WORKLOAD, key))
        if found is None:
            raise StoryError(f"Workload {key} does not exist at this point")
        return found

    def workloads(self) -> list[tuple[Key, Document]]:
        """By name."""
        found = [(key, document) for (kind, key), document in self.objects.items() if kind == WORKLOAD]
        return sorted(found, key=lambda item: (item[0].name, item[0].namespace))

    def set(self, key: Key, type_: str, on: bool, reason: str, message: str) -> None:
        """Set a condition; its time changes only with the status."""
        workload = self.workload(key)
        conditions = workload.setdefault("status", {}).setdefault("conditions", [])
        found = condition_of(workload, type_)
        if found is None:
            found = {"type": type_, "status": ""}
            conditions.append(found)
        if found["status"] != str(on):
            found["lastTransitionTime"] = timestamps.rfc3339(self.now)
        found.update(status=str(on), reason=reason, message=message)
        if workload["metadata"].get("generation"):
            found["observedGeneration"] = workload["metadata"]["generation"]
        self.changed[key] = None

    # -- what the shell would write --------------------------------------------------------------------------------

    def _write(self, step: Step) -> None:
        if isinstance(step, Admit):
            self._admit(step)
        elif isinstance(step, Preempt):
            self.set(step.key, names.EVICTED, True, "Preempted", step.message)
            self.set(step.key, names.PREEMPTED, True, step.reason, step.message)
        elif isinstance(step, Requeue):
            self._refuse(step)
        elif isinstance(step, Evict):
            self.set(step.key, names.EVICTED, True, step.reason, step.message)
            self.workload(step.key)["status"].pop("unhealthyNodes", None)

    def _admit(self, step: Admit) -> None:
        status = self.workload(step.key).setdefault("status", {})
        status["admission"] = step.admission
        status.pop("resourceRequests", None)
        status.pop("unhealthyNodes", None)
        self.set(step.key, names.QUOTA_RESERVED, True, step.reason, step.message)
        if step.admitted:
            self.set(step.key, names.ADMITTED, True, "Admitted", "The workload is admitted")
        else:
            told = "The workload has not all checks ready"
            self.set(step.key, names.ADMITTED, False, "UnsatisfiedAdmissionChecks", told)
        for type_ in (names.EVICTED, names.PREEMPTED):
            condition = condition_of(self.workload(step.key), type_)
            if condition and condition["status"] == "True":
                self.set(step.key, type_, False, "QuotaReserved", f"Previously: {condition['message']}")

    def _refuse(self, step: Requeue) -> None:
        status = self.workload(step.key).setdefault("status", {})
        requests = list(step.resource_requests)
        before = condition_of(self.workload(step.key), names.QUOTA_RESERVED) or {}
        said = (before.get("status"), before.get("reason"), before.get("message"), status.get("resourceRequests"))
        if said != ("False", step.reason, step.message, requests):
            status["resourceRequests"] = requests
            self.set(step.key, names.QUOTA_RESERVED, False, step.reason, step.message)
            self.set(step.key, names.ADMITTED, False, "NoReservation", "The workload has no reservation")

    def _apply_stop_policy(self, name: str, before: str, after: str) -> None:
        for key, workload in self.workloads():
            if after == "HoldAndDrain" and _runs_in(workload, name):
                self.set(key, names.EVICTED, True, STOPPED, "The ClusterQueue is stopped")
            if after == "None" and before != "None" and self._queue_of(key, workload) == name:
                requeued = condition_of(workload, names.REQUEUED)
                if requeued and requeued["status"] == "False" and requeued["reason"] == STOPPED:
                    self.set(key, names.REQUEUED, True, "ClusterQueueRestarted", "")

    def _queue_of(self, key: Key, workload: Document) -> str:
        queue = self.objects.get(("LocalQueue", Key(key.namespace, str(workload["spec"].get("queueName")))))
        return "" if queue is None else str(queue["spec"].get("clusterQueue"))


def condition_of(workload: Document, type_: str) -> Document | None:
    conditions: list[Any] = workload.get("status", {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == type_), None)


def is_true(workload: Document, type_: str) -> bool:
    condition = condition_of(workload, type_)
    return condition is not None and condition["status"] == "True"


def _runs_in(workload: Document, cluster_queue: str) -> bool:
    if not is_true(workload, names.ADMITTED) or is_true(workload, names.EVICTED):
        return False
    return bool(workload["status"]["admission"]["clusterQueue"] == cluster_queue)


def _stop_policy(document: Document) -> str:
    return str(document.get("spec", {}).get("stopPolicy") or "None")

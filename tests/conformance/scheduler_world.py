"""The world of a recorded scheduling case: cycles and their writes as the agent's shell does them, nothing observed."""

import re
from datetime import datetime, timedelta

from tests.conformance import engine_objects
from tests.conformance.case import Document
from worker_agent.api import timestamps
from worker_agent.api.document import get
from worker_agent.api.meta import Key
from worker_agent.engine import intent_effects, scheduling_writes
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.intents import ApplyStatus, Intent, RecordEvent
from worker_agent.engine.plan import Admit, Evict, Plan, Preempt, Requeue, SecondPassFailed
from worker_agent.engine.policy import Policy
from worker_agent.engine.reservation import Observability
from worker_agent.engine.state import ClusterState

_WAITED = re.compile(r"wait time since [a-z ]+ was -?\d+s")


class SchedulerWorld:
    """``workloads`` is the content of the API server, ``events`` what was recorded so far."""

    def __init__(self, case: Document, policy: Policy) -> None:
        self.now: datetime = timestamps.parse(case["now"])
        self.policy = policy
        self.state = ClusterState(policy)
        self.plan = Plan()
        self.events: list[Document] = []
        self.workloads = {engine_objects.key_of(o): o for o in case["objects"] if o["kind"] == "Workload"}
        self._waiting_again = [Key.parse(name) for name in case.get("secondPass") or ()]
        self._admission_fails = bool(case.get("admissionError"))
        self._how = Observability(fine=policy.observability, explicit=policy.explicit_status)
        engine_objects.load(self.state, case["objects"], self.now)
        self.state.flush_requeues(self.now)

    def cycle(self) -> None:
        # A second passes per workload of the second-pass queue before the cycle (conformance/README).
        self.now += timedelta(seconds=len(self._waiting_again))
        self._waiting_again.clear()
        heads = self.state.heads(self.now)
        self.plan = run_cycle(self.state, heads, self.policy, self.now) if heads else Plan()
        for step in self.plan:
            if isinstance(step, Admit):
                self._admit(step)
            elif isinstance(step, Preempt):
                self._preempt(step)
            elif isinstance(step, Evict):
                self._evict(step)
            elif isinstance(step, SecondPassFailed):
                self._write(scheduling_writes.second_pass_failed(self.workloads[step.key], step))
            elif isinstance(step, Requeue):
                self.requeue(step)

    def after_cycle(self, event: Document) -> None:
        for name in event.get("deleteWorkloads") or ():
            self.state.delete_workload(Key.parse(name), self.now)
            del self.workloads[Key.parse(name)]
        for document in event.get("updateClusterQueuesInCache") or ():
            engine_objects.put(self.state, document, self.now)
        if event.get("requeueInadmissible"):
            for name in self.state.pending:
                self.state.wakeups.note(name)
        self.state.flush_requeues(self.now)

    def _admit(self, step: Admit) -> None:
        if self._admission_fails:
            self.state.forget(step.key, self.now)
            return
        assignments = step.admission["podSetAssignments"]
        flavors = {flavor for assignment in assignments for flavor in (assignment.get("flavors") or {}).values()}
        checks = frozenset(self.state.cluster_queues[step.cluster_queue].required_checks(flavors))
        self._write(scheduling_writes.admit(self.workloads[step.key], step, checks, self._how, self.now))
        if step.replaces is not None:
            replaced = self.workloads[step.replaces]
            self._write(scheduling_writes.replaced(replaced, step.replaced_message, self.now))

    def _evict(self, step: Evict) -> None:
        """Where the write fails, the workload is tried again, and told why it found no place."""
        if self._admission_fails:
            entry = next(entry for entry in self.plan.entries if entry.row.key == step.key)
            failed = SecondPassFailed(step.key, step.cluster_queue, entry.message)
            self._write(scheduling_writes.second_pass_failed(self.workloads[step.key], failed))
            return
        self._write(scheduling_writes.evict(self.workloads[step.key], step, self.now))

    def _preempt(self, step: Preempt) -> None:
        self._write(scheduling_writes.preempt(self.workloads[step.key], step, self.now))
        self._write([scheduling_writes.preemptor_event(self.workloads[step.preemptor], step)])

    def requeue(self, step: Requeue) -> int:
        """Returns the number of status writes."""
        workload = self.workloads[step.key]
        if not scheduling_writes.still_waits(workload):
            return 0
        return self._write(scheduling_writes.requeue(workload, step, self._how, self.now))

    def _write(self, intents: list[Intent]) -> int:
        for intent in intents:
            if isinstance(intent, RecordEvent):
                self.events.append(
                    {"type": intent.type, "reason": intent.reason, "key": str(intent.key), "message": intent.message}
                )
            elif isinstance(intent, ApplyStatus):
                self.workloads[intent.key] = intent_effects.effect(intent, self.workloads[intent.key], self.now) or {}
        return sum(isinstance(intent, ApplyStatus) for intent in intents)

    # -- as the recorded data shows it -----------------------------------------------------------------------------

    def queues(self) -> tuple[Document, Document]:
        """(active, parked), keys sorted."""
        pending = self.state.pending
        active = {name: sorted(map(str, queue.active())) for name, queue in pending.items() if queue.has_active}
        return active, {name: sorted(map(str, queue.parked)) for name, queue in pending.items() if queue.parked}

    def holdings(self) -> dict[str, Document]:
        """Admissions of all workloads that the engine counts."""
        found = {}
        for queue in self.state.cluster_queues.values():
            for key in queue.reservations:
                found[str(key)] = get(self.workloads.get(key) or {}, "status.admission", {})
        return found


def comparable(event: Document) -> Document:
    """An event without the waiting time in its message."""
    return {**event, "message": _WAITED.sub("waited", event["message"])}

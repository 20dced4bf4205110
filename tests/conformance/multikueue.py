"""multikueue/: the hub's decisions on recorded states of a manager and its workers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from hub.engine import admission_check, condition, group_loading, incremental, manager_quota, orphans, sync, sync_owner
from hub.engine.group_loading import Federation
from hub.engine.intents import EachCluster, HubIntent, OnCluster
from hub.engine.remote_group import SyncPolicy
from tests.conformance import multikueue_clients
from tests.conformance.case import Document
from tests.conformance.comparison import by_key, differences, multiset
from tests.conformance.multikueue_world import CallFailed, Cluster, error_differs, gates_of, key_of
from worker_agent.api import names, timestamps
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import get as value_at
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.resource_type import ADMISSION_CHECKS
from worker_agent.engine.intents import (
    ApplyStatus,
    CreateObject,
    DeleteObject,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RequeueAfter,
    RetryWithError,
    SetCondition,
)
from worker_agent.jobs import KINDS

IGNORED = ("lastTransitionTime", "uid", "creationTimestamp", "observedGeneration")
KEYED = {"admissionChecks": "name", "nominatedClusterNames": ""}
LEFTOVERS = ("admission", "clusterName", "nominatedClusterNames")
"""What a real apply removes and the recorded fake server keeps (conformance/README)."""


@dataclass
class Execution:
    """Carries intents out on clusters held in memory."""

    clusters: Mapping[str, Cluster]
    now: datetime
    events: list[Document] = field(default_factory=list)
    requeue: float = 0.0
    error: str | None = None

    def run(self, intents: Iterable[HubIntent]) -> None:
        try:
            for intent in intents:
                self._one(intent)
        except CallFailed as failed:
            self.error, self.requeue = str(failed), 0.0

    def _one(self, intent: HubIntent) -> None:
        if isinstance(intent, EachCluster):
            errors = [error for served in intent.clusters if (error := self._on_cluster(served))]
            if errors:
                raise CallFailed("\n".join(errors))
        elif isinstance(intent, RecordEvent):
            told = {"key": str(intent.key), "message": intent.message, "reason": intent.reason, "type": intent.type}
            self.events.append(told)
        elif isinstance(intent, RequeueAfter):
            self.requeue = intent.seconds
        elif isinstance(intent, RetryWithError):
            raise CallFailed(intent.message)
        elif isinstance(intent, CreateObject | PatchObject | ApplyStatus | DeleteObject | RemoveFinalizer):
            self.clusters[intent.cluster].write(intent, self.now)

    def _on_cluster(self, served: OnCluster) -> str:
        try:
            for step in served.steps:
                self._one(step)
        except CallFailed as failed:
            return str(failed)
        return served.error


def workload(case: Document) -> list[str]:
    """TestWlReconcile: one pass over one Workload."""
    before = case["before"]
    now = timestamps.parse(case["now"])
    manager = Cluster.of(before["manager"])
    workers = {name: Cluster.of(state["objects"], _failures(state)) for name, state in before["workers"].items()}
    connected = {name: worker for name, worker in workers.items() if before["workers"][name]["connected"]}
    since = {
        name: timestamps.parse(state["disconnectedSince"])
        for name, state in before["workers"].items()
        if not state["connected"] and state.get("disconnectedSince")
    }
    kinds = sync_owner.table(KINDS[name] for name in case["adapters"] if name in KINDS)
    deleted = {key_of(document): document for document in case.get("deletedManagerWorkloads") or ()}
    key = Key.parse(case["reconcile"])
    execution = Execution({"": manager, **workers}, now)
    try:
        group = group_loading.load(key, Federation(manager, connected, since, kinds), _policy(case), deleted.get(key))
        execution.run(sync.decide(group, now) if group is not None else [])
    except CallFailed as failed:
        execution.error = str(failed)
    return _judge_workload(case, execution)


def _judge_workload(case: Document, execution: Execution) -> list[str]:
    expect = case["expect"]
    found = _worlds(expect["manager"], execution.clusters[""].objects.values(), "manager")
    for name, objects in expect["workers"].items():
        found += _worlds(objects, execution.clusters[name].objects.values(), name)
    found += multiset(expect.get("events") or [], execution.events, "event")
    if expect.get("resultChecked"):
        wanted = expect["result"]["requeueAfterSeconds"]
        if abs(wanted - execution.requeue) >= 1:
            found.append(f"requeue: expected {wanted}, got {execution.requeue}")
    return found + error_differs(expect.get("error"), execution.error)


def _policy(case: Document) -> SyncPolicy:
    gates = gates_of(case)
    return SyncPolicy(
        origin=case["origin"],
        worker_lost_timeout=timedelta(seconds=case["workerLostTimeoutSeconds"]),
        dispatcher=case["dispatcherName"],
        orchestrated_preemption=gates["MultiKueueOrchestratedPreemption"],
        priority_boost=gates["PriorityBoost"],
        jobs=JobPolicy.from_gates(gates),
    )


def _failures(state: Document) -> dict[str, str]:
    calls = {"get": "onGetError", "create": "onCreateError", "delete": "onDeleteError"}
    return {call: state[name] for call, name in calls.items() if state.get(name)}


def _worlds(expected: Iterable[Document], actual: Iterable[Document], where: str) -> list[str]:
    wanted, found = by_key(_compared(expected)), by_key(_compared(actual))
    lines = differences(dict(wanted), dict(found), ignore=IGNORED, keyed=KEYED, zeros_absent=True)
    return [f"{where}: {line}" for line in lines]


def _compared(objects: Iterable[Document]) -> list[Document]:
    return [_without_leftovers(o) for o in objects if o["kind"] not in ("Namespace", "Secret")]


def _without_leftovers(document: Document) -> Document:
    status = document.get("status")
    if document["kind"] != "Workload" or not status:
        return document
    reserved = any(c["type"] == names.QUOTA_RESERVED and c["status"] == "True" for c in status.get("conditions") or ())
    kept = {name: value for name, value in status.items() if reserved or name not in LEFTOVERS}
    return {**document, "status": kept}


def checks(case: Document) -> list[str]:
    """TestAdmissionCheckReconcile: the Active condition of one check."""
    world = Cluster.of(case["before"])
    check = world.admission_check(case["reconcile"])
    if check is not None and check.spec.controller_name == names.MULTIKUEUE_CONTROLLER:
        stand = _stand(world, check)
        if stand.differs_from(condition.find(check.status.conditions, names.ACTIVE)):
            said = SetCondition(names.ACTIVE, stand.status, stand.reason, stand.message)
            key = Key("", case["reconcile"])
            world.write(ApplyStatus(resource=ADMISSION_CHECKS, key=key, conditions=(said,)), timestamps.ZERO)
    ignore = [name for name in IGNORED if name != "observedGeneration"]
    lines = differences(dict(by_key(case["expect"]["objects"])), dict(by_key(world.objects.values())), ignore=ignore)
    return lines + error_differs(case["expect"].get("error"), None)


def _stand(world: Cluster, check: AdmissionCheck) -> condition.Stand:
    configs = {o["metadata"]["name"]: msgspec.convert(o, MultiKueueConfig) for o in world.of_kind("MultiKueueConfig")}
    try:
        config = admission_check.resolve(check, configs)
    except admission_check.BadReference as error:
        return admission_check.bad_config(error)
    clusters = [msgspec.convert(o, MultiKueueCluster) for o in world.of_kind("MultiKueueCluster")]
    active = {o.metadata.name: condition.find(o.status.conditions, names.ACTIVE) for o in clusters}
    return admission_check.judge(config, active)


def collection(case: Document) -> list[str]:
    """TestRemoteClientGC: one collection of orphans on every worker."""
    manager = Cluster.of(case["before"]["manager"])
    workers = {name: Cluster.of(objects) for name, objects in case["before"]["workers"].items()}
    kinds = sync_owner.table([KINDS["batch/job"]])

    def lives(key: Key) -> bool:
        found = manager.workload(key)
        return found is not None and not found["metadata"].get("deletionTimestamp")

    for name, worker in workers.items():
        holdings = orphans.Holdings(name, worker.of_kind("Workload"), worker.job)
        found = orphans.collect(holdings, case["origin"], lives, kinds)
        for write in (*found.jobs, *found.workloads):
            worker.write(write, timestamps.ZERO)
    lines = _worlds(case["expect"]["manager"], manager.objects.values(), "manager")
    for name, objects in case["expect"]["workers"].items():
        lines += _worlds(objects, workers[name].objects.values(), name)
    return lines


def cluster_queue(case: Document) -> list[str]:
    """TestCQReconcile: the automated quota of one ClusterQueue and the condition that tells of it."""
    manager = Cluster.of(case["before"]["manager"])
    queue = manager.typed("ClusterQueue", case["reconcile"], ClusterQueue)
    automation = _automation(case, manager, queue)
    groups = manager.objects["ClusterQueue", Key("", case["reconcile"])]["spec"].get("resourceGroups")
    if automation is not None and automation.resource_groups is not None:
        groups = automation.resource_groups
    expected = next(
        o for o in case["expect"]["manager"] if o["kind"] == "ClusterQueue" and key_of(o).name == case["reconcile"]
    )
    lines = differences(expected["spec"].get("resourceGroups"), groups)
    wanted = case["expect"].get("condition")
    stand = automation.stand if automation is not None else None
    if wanted is None or stand is None:
        return lines + ([] if wanted is None and stand is None else [f"condition: expected {wanted}, got {stand}"])
    got = {"status": stand.status, "reason": stand.reason, "message": stand.message}
    return lines + differences({name: wanted[name] for name in got}, got)


def _automation(case: Document, manager: Cluster, queue: ClusterQueue) -> manager_quota.Automation | None:
    local = [
        key_of(o) for o in manager.of_kind("LocalQueue") if value_at(o, "spec.clusterQueue", "") == queue.metadata.name
    ]
    connected = {
        name: Queues(Cluster.of(state["objects"]))
        for name, state in case["before"]["workers"].items()
        if state["connected"]
    }
    try:
        return manager_quota.judge(queue, local, manager, connected)
    except admission_check.BadReference:
        return None


class Queues:
    """A worker's queues."""

    def __init__(self, worker: Cluster) -> None:
        self._worker = worker

    def local_queue(self, key: Key) -> LocalQueue | None:
        found = self._worker.objects.get(("LocalQueue", key))
        return None if found is None else msgspec.convert(found, LocalQueue)

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        return self._worker.typed("ClusterQueue", name, ClusterQueue)


def nomination(case: Document) -> list[str]:
    """The incremental dispatcher's next round."""
    gates = gates_of(case)
    settings = case.get("incrementalDispatcherConfig") or {}
    step = settings.get("stepSize", incremental.STEP_SIZE)
    if not gates["MultiKueueIncrementalDispatcherConfig"]:
        step = incremental.STEP_SIZE
    nominated = value_at(case["workload"], "status.nominatedClusterNames", [])
    keep_order = gates["MultiKueueIncrementalDispatcherRespectConfigOrder"]
    error = None
    try:
        nominated = incremental.next_round(case["remoteClusters"], nominated, step_size=step, keep_order=keep_order)
    except incremental.NoMoreWorkers as reason:
        error = str(reason)
    lines = differences(case["expect"]["nominatedClusterNames"], nominated)
    return lines if case["expect"]["error"] == error else [*lines, f"error: {error}"]


RUNNERS = {
    "TestWlReconcile": workload,
    "TestAdmissionCheckReconcile": checks,
    "TestRemoteClientGC": collection,
    "TestCQReconcile": cluster_queue,
    "TestUpdateConfig": multikueue_clients.remote_clients,
    "workloaddispatcher.TestIncrementalDispatcherNominateWorkers": nomination,
}

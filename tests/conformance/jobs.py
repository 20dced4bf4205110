"""jobs/: job kinds as recorded from Kueue: pod sets, start, webhook rules, and one turn of the job reconciler."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from tests.conformance.case import Document
from tests.conformance.comparison import by_key, differences, multiset
from tests.conformance.jobs_case import World, companion_in, kind_of, policy_of, ref_of
from tests.conformance.jobs_webhooks import default, validate
from worker_agent.api import companions, frameworks, job_kind, selectors, timestamps
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.pod import PriorityClass
from worker_agent.api.pod_set_info import InvalidPodSetInfo, PodSetInfo
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.topology_request import TopologyRequestError
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import intent_effects, job_ancestors, job_lifecycle, workload_status
from worker_agent.engine.intents import Intent, RecordEvent, RetryWithError
from worker_agent.engine.job_view import WRITES, JobView
from worker_agent.jobs import (
    leader_worker_set_lifecycle,
    pod_facts,
    pod_group,
    pod_group_lifecycle,
    stateful_set_lifecycle,
)
from worker_agent.jobs.pod_group import PodGroup
from worker_agent.jobs.serving import ServingKind
from worker_agent.jobs.serving_pass import ServingView

_COMPARED_WHOLE = frozenset({"job", "pod", "leaderworkerset", "statefulset"})
"""The kinds whose recorded reconciles tell names and metadata too."""
_UPDATES_FAIL = "when the combined update fails"
"""Every update of a Workload fails in the case of this name, which no field of it says; events follow writes."""
_SOME_TIME = "2026-01-01T00:00:00Z"
"""For records without a time: nothing in them depends on it."""


def pod_sets(case: Document) -> list[str]:
    """<kind>.TestPodSets."""
    kind, expected = kind_of(case), case["expect"]
    given = [each for each in case["input"].values() if each]
    job = next(each for each in given if each["kind"] == kind.resource.kind)
    job = companions.joined(job, kind.companions(job), companion_in({ref_of(each): each for each in given}))
    try:
        found = [pod_set.document() for pod_set in kind.pod_sets(job, policy_of(case))]
    except TopologyRequestError as error:
        return [] if expected["error"] else [f"unexpected error: {error}"]
    if expected["error"]:
        return [f"expected error: {expected['error']}"]
    return differences(expected["podSets"], found)


def start(case: Document) -> list[str]:
    """<kind>.TestPodSetsInfo and TestRunWithPodSetsInfo."""
    expected = case["expect"]
    infos = [_info(info) for info in case["podSetsInfo"] or ()]
    kind, job = kind_of(case), case["object"]
    job = companions.joined(job, kind.companions(job), lambda companion: _TRAINING_RUNTIME)
    try:
        started = kind.start(job, infos, policy_of(case))
    except InvalidPodSetInfo as error:
        return differences({"error": expected["error"]}, {"error": str(error)})
    if expected["error"]:
        return [f"expected error: {expected['error']}"]
    return differences(expected["object"], _without_companions(started), zeros_absent=True)


_NODE = {"metadata": {}, "spec": {"template": {"spec": {"containers": [{"name": "test-container"}]}}}}
_TRAINING_RUNTIME = {"spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": _NODE}]}}}}
"""The runtime that every recorded start refers to and none tells; its one pod set is called ``node``."""


def _without_companions(job: Document) -> Document:
    return {name: value for name, value in job.items() if not name.startswith("~")}


def restore(case: Document) -> list[str]:
    """<kind>.TestRestorePodSetsInfo: the templates put back, and whether anything differed."""
    expected = case["expect"]
    infos = [_info(info) for info in case["podSetsInfo"] or ()]
    restored, changed = kind_of(case).restore(case["object"], infos)
    told = differences({"changed": expected["changed"]}, {"changed": changed})
    return told + (differences(expected["object"], restored) if expected["changed"] else [])


def _info(info: Document) -> PodSetInfo:
    return PodSetInfo(
        name=info["Name"],
        count=info["Count"],
        labels=info["Labels"] or {},
        annotations=info["Annotations"] or {},
        node_selector=info["NodeSelector"] or {},
        tolerations=tuple(info["Tolerations"] or ()),
        scheduling_gates=tuple(info["SchedulingGates"] or ()),
    )


def reconcile_set(case: Document) -> list[str]:
    """statefulset.TestReconciler, leaderworkerset.TestReconciler: one decision about a serving set."""
    kind = kind_of(case)
    decide = stateful_set_lifecycle.decide if kind.framework == "statefulset" else leader_worker_set_lifecycle.decide
    world = {ref_of(document): document for document in case["before"]}
    intents = decide(_serving_view(case, world, Key.parse(case["reconcile"])), _now(case))
    return _judge_world(case, world, intents)


def reconcile_set_pod(case: Document) -> list[str]:
    """statefulset.TestPodReconciler: one decision about a pod of a StatefulSet."""
    world = {ref_of(document): document for document in case["before"]}
    pod = world["v1", "Pod", Key.parse(case["reconcile"])]
    owner = frameworks.controller_of(pod)
    if owner is None:
        return _judge_world(case, world, [])
    view = _serving_view(case, world, Key(pod["metadata"]["namespace"], owner["name"]))
    return _judge_world(case, world, stateful_set_lifecycle.decide_pod(pod, view, _now(case)))


def _serving_view(case: Document, world: World, key: Key) -> ServingView:
    kind = kind_of(case)
    assert isinstance(kind, ServingKind)

    def of_kind(wanted: str) -> tuple[Document, ...]:
        return tuple(document for (_, name, _), document in sorted(world.items()) if name == wanted)

    return ServingView(
        kind=kind,
        key=key,
        policy=_reconciler_policy(case, kind),
        job=world.get((kind.resource.api_version, kind.resource.kind, key)),
        workloads={workload["metadata"]["name"]: workload for workload in of_kind("Workload")},
        pods=of_kind("Pod"),
        sets=of_kind("StatefulSet"),
        workload_priority_classes=_typed(world, "WorkloadPriorityClass", WorkloadPriorityClass),
        priority_classes=_typed(world, "PriorityClass", PriorityClass),
    )


def _now(case: Document) -> datetime:
    return timestamps.parse(case.get("now") or _SOME_TIME)


def reconcile(case: Document) -> list[str]:
    """<kind>.TestReconciler: one decision, executed on the recorded objects."""
    kind, now = kind_of(case), _now(case)
    world = {ref_of(document): document for document in case["before"]}
    view = _view(kind, case, world)
    decide = pod_group_lifecycle.decide if view.kind.composable else job_lifecycle.decide
    intents = decide(view, now)
    return _judge_world(case, world, intents)


def _judge_world(case: Document, world: World, intents: list[Intent]) -> list[str]:
    now = _now(case)
    if case["name"].endswith(_UPDATES_FAIL):
        intents = [RetryWithError("workload update failed")]
    for intent in intents:
        if isinstance(intent, WRITES):
            ref = (intent.resource.api_version, intent.resource.kind, intent.key)
            after = intent_effects.effect(intent, world.pop(ref, None), now)
            if after is not None and not _is_gone(after):
                world[ref] = after
    expected = case["expect"]
    compare = _objects if case["test"].partition(".")[0] in _COMPARED_WHOLE else _outlines
    return [*compare(expected["objects"], world.values()), *_events(expected, intents), *_error(expected, intents)]


def _is_gone(document: Document) -> bool:
    """An object that is being deleted goes with its last finalizer."""
    metadata = document["metadata"]
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")


def _view(kind: JobKind, case: Document, world: World) -> JobView:
    if case["reconcile"].startswith("group/"):
        return _group_view(case, world)
    key = Key.parse(case["reconcile"])
    options = case["options"]
    policy = _reconciler_policy(case, kind)
    job = world.get((kind.resource.api_version, kind.resource.kind, key))
    if job is not None:
        job = companions.joined(job, kind.companions(job), companion_in(world))
    ancestry = job_ancestors.NO_ANCESTOR
    if job is not None:
        ancestry = job_ancestors.search(job, lambda v, k, ns, name: world.get((v, k, Key(ns, name))), policy)
    prebuilt = job_kind.prebuilt_name(job, policy) if job is not None else ""
    namespace = world.get(("v1", "Namespace", Key("", key.namespace)))
    assert set(options) >= {"manageJobsWithoutQueueName"}
    return JobView(
        kind=kind,
        key=key,
        policy=policy,
        job=job,
        workloads=_owned(world, (kind.resource.api_version, kind.resource.kind), key),
        prebuilt=_workloads(world).get(Key(key.namespace, prebuilt)),
        namespace_labels=None if namespace is None else namespace["metadata"].get("labels") or {},
        ancestry=ancestry,
        ancestor_workloads=_ancestor_workloads(world, ancestry.managed),
        flavors=_typed(world, "ResourceFlavor", ResourceFlavor),
        workload_priority_classes=_typed(world, "WorkloadPriorityClass", WorkloadPriorityClass),
        priority_classes=_typed(world, "PriorityClass", PriorityClass),
    )


def _group_view(case: Document, world: World) -> JobView:
    """``group/<namespace>/<name>``: the pods that name the group, and the Workload that is or should be theirs."""
    _, namespace, name = case["reconcile"].split("/")
    kind = PodGroup()
    policy = _reconciler_policy(case, kind)
    found = sorted((ref[2], pod) for ref, pod in world.items() if ref[1] == "Pod" and ref[2].namespace == namespace)
    pods = [pod for _, pod in found if pod_facts.group_name(pod, policy) == name]
    job = pod_group.compose(pods) if pods else None
    prebuilt = job_kind.prebuilt_name(job, policy) if job is not None else ""
    workload = _workloads(world).get(Key(namespace, name))
    namespace_object = world.get(("v1", "Namespace", Key("", namespace)))
    return JobView(
        kind=kind,
        key=Key(namespace, name),
        policy=policy,
        job=job,
        workloads=() if workload is None else (workload,),
        prebuilt=_workloads(world).get(Key(namespace, prebuilt)),
        namespace_labels=None if namespace_object is None else namespace_object["metadata"].get("labels") or {},
        flavors=_typed(world, "ResourceFlavor", ResourceFlavor),
        workload_priority_classes=_typed(world, "WorkloadPriorityClass", WorkloadPriorityClass),
        priority_classes=_typed(world, "PriorityClass", PriorityClass),
        awaiting_deletions=any(each["key"] == f"{namespace}/{name}" for each in case["excessPodsExpectations"] or ()),
    )


def _reconciler_policy(case: Document, kind: JobKind) -> JobPolicy:
    options = case["options"]
    selector = options["managedJobsNamespaceSelector"]
    retention = options["workloadRetentionPolicy"]["AfterDeactivatedByKueue"]
    return policy_of(
        case,
        manage_without_queue_name=options["manageJobsWithoutQueueName"],
        namespaces=None if selector is None else selectors.parse_label_query(selector),
        frameworks=frozenset({kind.framework, *options["enabledFrameworks"]}),
        external_frameworks=frozenset(options["enabledExternalFrameworks"]),
        label_keys_to_copy=tuple(options["labelKeysToCopy"]),
        annotation_keys_to_copy=tuple(options["annotationsToCopy"]),
        wait_for_pods_ready=options["waitForPodsReady"],
        retain_deactivated=None if retention is None else timedelta(microseconds=retention / 1000),
    )


def _workloads(world: World) -> dict[Key, Document]:
    return {key: document for (_, kind, key), document in sorted(world.items()) if kind == "Workload"}


def _owned(world: World, gvk: frameworks.GVK, owner: Key) -> tuple[Document, ...]:
    def is_owner(workload: Document) -> bool:
        reference = frameworks.controller_of(workload) or {}
        return frameworks.gvk_of(reference) == gvk and reference.get("name") == owner.name

    here = (workload for key, workload in _workloads(world).items() if key.namespace == owner.namespace)
    return tuple(filter(is_owner, here))


def _ancestor_workloads(world: World, ancestor: Document | None) -> tuple[Document, ...]:
    if ancestor is None:
        return ()
    _, _, key = ref_of(ancestor)
    return _owned(world, frameworks.gvk_of(ancestor), key)


def _typed(world: World, wanted: str, type_: Any) -> dict[str, Any]:
    return {key.name: msgspec.convert(document, type_) for (_, kind, key), document in world.items() if kind == wanted}


def _objects(expected: Any, actual: Any) -> list[str]:
    wanted, found = (by_key(map(_lean, objects)) for objects in (expected, actual))
    return differences(wanted, found, ignore=("lastTransitionTime", "observedGeneration", "deletionTimestamp"))


def _outlines(expected: Any, actual: Any) -> list[str]:
    """Jobs without metadata, Workloads without metadata, priority and templates: Kueue's own tests look no closer."""
    return multiset(map(_outline, expected), map(_outline, actual), "object")


def _outline(document: Document) -> Document:
    outline = {name: value for name, value in _lean(document).items() if name != "metadata"}
    if document["kind"] != "Workload":
        return outline
    status = outline.get("status") or {}
    conditions = sorted(status.get("conditions") or (), key=lambda condition: condition["type"])
    told = [{**condition, "lastTransitionTime": None} for condition in conditions]
    outline["status"] = {**status, "conditions": told}
    sets = [{**pod_set, "template": None} for pod_set in document["spec"].get("podSets") or ()]
    return {**outline, "spec": {**document["spec"], "podSets": sets, "priority": None}}


def _lean(document: Document) -> Document:
    """Without the leftovers of the recorded fake server: an admission of a Workload without quota."""
    if document["kind"] != "Workload" or workload_status.is_true(document, "QuotaReserved"):
        return document
    status = {name: value for name, value in (document.get("status") or {}).items() if name != "admission"}
    return {**document, "status": status}


def _events(expected: Document, intents: list[Intent]) -> list[str]:
    if not expected.get("eventsChecked"):
        return []
    found = [
        {"key": str(event.key), "message": event.message, "reason": event.reason, "type": event.type}
        for event in intents
        if isinstance(event, RecordEvent)
    ]
    return multiset(expected["events"] or (), found, "event")


def _error(expected: Document, intents: list[Intent]) -> list[str]:
    found = next((intent.message for intent in intents if isinstance(intent, RetryWithError)), None)
    return [] if expected["error"] == found else [f"error: expected {expected['error']!r}, got {found!r}"]


RUNNERS: dict[str, Callable[[Document], list[str]]] = {
    "*.TestPodSets": pod_sets,
    "*.TestPodSetsInfo": start,
    "*.TestRunWithPodSetsInfo": start,
    "*.TestRunWithPodsetsInfo": start,
    "*.TestRestorePodSetsInfo": restore,
    "statefulset.TestReconciler": reconcile_set,
    "statefulset.TestPodReconciler": reconcile_set_pod,
    "leaderworkerset.TestReconciler": reconcile_set,
    "*.TestReconciler": reconcile,
    "*.TestNodeSelectors": start,
    "*.TestDefault": default,
    "*.TestValidateDefault": default,
    "*.TestValidateCreate": validate,
    "*.TestValidateUpdate": validate,
    "*.TestValidate": validate,
}

"""Random contended clusters: trees of cohorts with limits and weights, preemption of every kind, evictions."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.builders import cluster_queue, cohort, flavor, local_queue, namespace, pod_set, quota, workload
from tests.engine_world import EngineWorld, condition_of, is_true
from worker_agent.api.document import Document
from worker_agent.engine.policy import DEFAULT, Policy

QUEUES = ("q0", "q1", "q2", "q3")
FLAVORS = ("f0", "f1")

History = tuple[Policy, list[Document], list[tuple[str, Any]]]

_within = st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
_reclaim = st.sampled_from(["Never", "LowerPriority", "Any"])
_weight = st.sampled_from([None, "0", "1", "2", "500m"])


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    strategies = draw(
        st.sampled_from(
            [
                ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
                ("LessThanOrEqualToFinalShare",),
                ("LessThanInitialShare",),
            ]
        )
    )
    return replace(
        DEFAULT,
        fair_sharing=draw(st.booleans()),
        preemption_strategies=strategies,
        recompute_overlapping_targets=draw(st.booleans()),
    )


def _quotas(draw: st.DrawFn, limited: bool) -> Document:
    def entry() -> Document:
        nominal = draw(st.integers(0, 5))
        borrowing = draw(st.none() | st.integers(0, 6)) if limited else None
        return quota(
            nominal, borrowing=borrowing, lending=draw(st.none() | st.integers(0, nominal)) if limited else None
        )

    return {name: {"cpu": entry()} for name in FLAVORS}


def _sharing(draw: st.DrawFn) -> Document:
    weight = draw(_weight)
    return {} if weight is None else {"fairSharing": {"weight": weight}}


@st.composite
def _queue(draw: st.DrawFn, name: str, cohorts: int) -> Document:
    parent = draw(st.sampled_from(["", *(f"c{i}" for i in range(cohorts))])) if cohorts else ""
    reclaim = draw(_reclaim)
    borrow = {"policy": "Never"}
    if reclaim != "Never" and draw(st.booleans()):
        borrow = {"policy": "LowerPriority", "maxPriorityThreshold": draw(st.none() | st.integers(0, 2))}
    preemption = {"withinClusterQueue": draw(_within), "reclaimWithinCohort": reclaim, "borrowWithinCohort": borrow}
    fungibility = {"whenCanPreempt": draw(st.sampled_from(["MayStopSearch", "TryNextFlavor"]))}
    quotas, sharing = _quotas(draw, bool(parent)), _sharing(draw)
    return cluster_queue(name, quotas, cohort=parent, preemption=preemption, fungibility=fungibility, **sharing)


@st.composite
def _cohort(draw: st.DrawFn, index: int) -> Document:
    parent = draw(st.sampled_from(["", *(f"c{i}" for i in range(index))]))
    return cohort(f"c{index}", _quotas(draw, bool(parent)), parent=parent, **_sharing(draw))


@st.composite
def _workload(draw: st.DrawFn, number: int) -> Document:
    count = draw(st.integers(1, 4))
    least = draw(st.none() | st.integers(1, count))
    sets = pod_set(count=count, min_count=least, requests={"cpu": draw(st.integers(0, 3))})
    created = f"2026-01-01T10:{number // 60:02}:{number % 60:02}Z"
    queue, priority = draw(st.sampled_from(QUEUES)), draw(st.integers(0, 3))
    return workload(f"w{number:03}", sets, queue=queue, priority=priority, created=created)


@st.composite
def histories(draw: st.DrawFn, steps: int = 40) -> History:
    """A policy, objects at the start, and steps: (create, workload), (cycle, None), (evictions, None), (finish, n)."""
    cohorts = draw(st.integers(0, 3))
    objects = [namespace(), *(flavor(name) for name in FLAVORS)]
    objects += [draw(_cohort(index)) for index in range(cohorts)]
    for name in QUEUES:
        objects += [draw(_queue(name, cohorts)), local_queue(name, name)]
    kinds = st.sampled_from(["create", "create", "create", "cycle", "cycle", "evictions", "finish"])
    script: list[tuple[str, Any]] = []
    for number in range(draw(st.integers(8, steps))):
        kind = draw(kinds)
        what = draw(_workload(number)) if kind == "create" else draw(st.integers(0, 20)) if kind == "finish" else None
        script.append((kind, what))
    return draw(policies()), objects, script


def world(history: History) -> EngineWorld:
    policy, objects, _ = history
    return EngineWorld(deepcopy(objects), policy)


def play(made: EngineWorld, step: tuple[str, Any]) -> None:
    kind, what = step
    made.advance(1)
    match kind:
        case "create":
            made.put(deepcopy(what))
        case "cycle":
            made.cycle()
        case "evictions":
            release(made)
        case "finish":
            held = [key for key, document in made.workloads() if is_true(document, "Admitted")]
            if held:
                made.finish(str(held[what % len(held)]))


def release(made: EngineWorld) -> list[str]:
    """Evicted workloads have stopped: their quota goes back. Returns their names."""
    released = []
    for key, document in made.workloads():
        if is_true(document, "Evicted") and document["status"].get("admission"):
            message = (condition_of(document, "Evicted") or {})["message"]
            made.set(key, "Requeued", True, "Preempted", message)
            made.set(key, "QuotaReserved", False, "PendingEvaluation", message)
            made.set(key, "Admitted", False, "NoReservation", "The workload has no reservation")
            del document["status"]["admission"]
            released.append(key.name)
    made.observe()
    return released

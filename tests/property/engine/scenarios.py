"""Random small clusters and histories for the engine's properties."""

from typing import Any

from hypothesis import strategies as st

from tests.builders import cluster_queue, cohort, flavor, local_queue, namespace, pod_set, quota, workload
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.api.meta import Key

FLAVORS = ("f0", "f1")
RESOURCES = ("cpu", "memory")
QUEUES = ("q0", "q1", "q2", "q3")

_amount = st.integers(0, 9)
_limit = st.none() | _amount


def _quotas(draw: st.DrawFn, limited: bool, lend_beyond: bool) -> Document:
    def entry() -> Document:
        nominal = draw(_amount)
        if not limited:
            return quota(nominal)
        lending = draw(_limit)
        if lending is not None and not lend_beyond:
            lending = min(lending, nominal)
        return quota(nominal, borrowing=draw(_limit), lending=lending)

    return {name: {resource: entry() for resource in RESOURCES} for name in FLAVORS}


@st.composite
def queue_object(draw: st.DrawFn, name: str, cohorts: int) -> Document:
    """A ClusterQueue somewhere in a tree of ``cohorts`` cohorts, or alone."""
    parent = draw(st.sampled_from(["", *(f"c{i}" for i in range(cohorts))]))
    fungibility = {
        "whenCanBorrow": draw(st.sampled_from(["MayStopSearch", "TryNextFlavor"])),
        "whenCanPreempt": draw(st.sampled_from(["MayStopSearch", "TryNextFlavor"])),
    }
    stop = draw(st.sampled_from(["None", "None", "None", "Hold"]))
    quotas = _quotas(draw, bool(parent), lend_beyond=False)
    strict = draw(st.booleans())
    return cluster_queue(name, quotas, cohort=parent, strict=strict, fungibility=fungibility, stopPolicy=stop)


@st.composite
def cohort_object(draw: st.DrawFn, index: int) -> Document:
    """Cohort ``c<index>``, below one of those before it or a root."""
    parent = draw(st.sampled_from(["", *(f"c{i}" for i in range(index))]))
    return cohort(f"c{index}", _quotas(draw, bool(parent), lend_beyond=True), parent=parent)


@st.composite
def workload_object(draw: st.DrawFn, number: int) -> Document:
    sets = []
    for index in range(draw(st.integers(1, 2))):
        count = draw(st.integers(0, 4))
        least = draw(st.none() | st.integers(1, count)) if count and not index else None
        requests = {resource: draw(st.integers(0, 3)) for resource in RESOURCES}
        sets.append(pod_set(f"p{index}", count=count, min_count=least, requests=requests))
    queue = draw(st.sampled_from(QUEUES))
    created = f"2026-01-01T10:{number // 60:02}:{number % 60:02}Z"
    return workload(f"w{number:03}", *sets, queue=f"l-{queue}", priority=draw(st.integers(0, 2)), created=created)


@st.composite
def histories(draw: st.DrawFn, steps: int = 40) -> tuple[list[Document], list[tuple[str, Any]]]:
    """Objects at the start, and steps: (create, workload), (finish | delete | reclaim, index), (cycle, None) ..."""
    cohorts = draw(st.integers(0, 4))
    objects = [namespace(), *(flavor(name) for name in FLAVORS)]
    objects += [draw(cohort_object(index)) for index in range(cohorts)]
    for name in QUEUES:
        objects += [draw(queue_object(name, cohorts)), local_queue(f"l-{name}", name)]
    kinds = st.sampled_from(
        ["create", "create", "create", "cycle", "cycle", "cycle", "finish", "delete", "reclaim", "queue", "cohort"]
    )
    script: list[tuple[str, Any]] = []
    for number in range(draw(st.integers(10, steps))):
        kind = draw(kinds)
        match kind:
            case "create":
                script.append((kind, draw(workload_object(number))))
            case "queue":
                script.append((kind, draw(queue_object(draw(st.sampled_from(QUEUES)), cohorts))))
            case "cohort":
                index = draw(st.integers(0, max(0, cohorts - 1)))
                script.append((kind, draw(cohort_object(index))) if cohorts else ("cycle", None))
            case "cycle":
                script.append((kind, None))
            case _:
                script.append((kind, draw(st.integers(0, 20))))
    return objects, script


def play(world: EngineWorld, step: tuple[str, Any]) -> None:
    """One step of a history."""
    kind, what = step
    if kind == "cycle":
        world.advance(1)
        world.cycle()
    elif kind in ("create", "queue", "cohort"):
        world.put(what)
    else:
        keys = [key for key, _ in world.workloads()]
        if keys:
            _change(world, kind, keys[what % len(keys)])


def _change(world: EngineWorld, kind: str, key: Key) -> None:
    if kind == "finish":
        world.finish(str(key))
    elif kind == "delete":
        world.delete(str(key))
    else:
        document = world.workload(key)
        status = document.setdefault("status", {})
        status["reclaimablePods"] = [{"name": p["name"], "count": 1} for p in document["spec"]["podSets"]]
        world.put(document)

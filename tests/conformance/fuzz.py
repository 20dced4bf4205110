"""Random multi-cycle scenarios with the reference engine's outcomes (fuzz/README): tells the first differing cycle."""

from collections.abc import Iterator, Mapping

from tests.conformance.case import Document
from tests.conformance.fuzz_world import World
from worker_agent.api import quantity
from worker_agent.api.meta import Key
from worker_agent.engine import hierarchy
from worker_agent.engine.plan import Plan
from worker_agent.engine.quota import QuotaNode
from worker_agent.engine.tas import topology_assignment


def run(case: Document) -> list[str]:
    """Play the script; compare each cycle with the recorded one, in the order of the README, and stop at the first."""
    world = World(case)
    trace = iter(case["trace"])
    for index, step in enumerate(case["steps"]):
        world.step(step)
        if step["op"] == "cycle":
            expected = next(trace)
            found = list(_differences(world, expected))
            if found:
                number = sum(1 for s in case["steps"][: index + 1] if s["op"] == "cycle")
                return [f"cycle {number} (step {index})", *found]
    return []


def _differences(world: World, expected: Document) -> Iterator[str]:
    plan = world.plan or Plan()
    yield from _compare("noop", expected.get("noop", False), world.plan is None)
    yield from _compare("admitted", expected.get("admitted") or {}, _admitted(world, plan))
    yield from _compare(
        "preempted", _triples(expected), {(str(p.key), p.reason, str(p.preemptor)) for p in plan.preemptions}
    )
    yield from _compare("usage", expected.get("usage") or {}, _usage(world.state.hierarchy.queues))
    yield from _compare("cohortUsage", expected.get("cohortUsage") or {}, _usage(world.state.hierarchy.cohorts))
    queues, parked = _waiting(world)
    yield from _compare("queue", expected.get("queue") or {}, queues)
    yield from _compare("inadmissible", expected.get("inadmissible") or {}, parked)
    yield from _compare("attempts", expected.get("attempts") or {}, _attempts(world, plan))
    if "attemptOrder" in expected:
        yield from _compare("attemptOrder", expected["attemptOrder"], [str(key) for key in plan.attempts])
    yield from _compare("pending", expected.get("pending") or {}, _pending(world, plan))


def _compare(what: str, expected: object, actual: object) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if expected.get(key) != actual.get(key):
                yield f"{what}[{key}]: expected {expected.get(key)}, got {actual.get(key)}"
    elif expected != actual:
        yield f"{what}: expected {expected}, got {actual}"


def _admitted(world: World, plan: Plan) -> Document:
    return {
        str(step.key): {
            "clusterQueue": step.cluster_queue,
            "podSets": [_pod_set(pod_set) for pod_set in step.admission["podSetAssignments"]],
        }
        for step in plan.admissions
    }


def _pod_set(pod_set: Document) -> Document:
    usage = {name: quantity.value(name, amount) for name, amount in pod_set.get("resourceUsage", {}).items()}
    return {
        "name": pod_set["name"],
        "flavors": pod_set.get("flavors", {}),
        "resourceUsage": usage,
        "count": pod_set["count"],
        "topologyAssignment": _topology(pod_set.get("topologyAssignment")),
    }


def _topology(document: Document | None) -> Document | None:
    """As the recording has it, domain by domain."""
    found = topology_assignment.decode(document)
    if found is None:
        return None
    domains = [{"values": list(domain.values), "count": domain.pods} for domain in found.domains]
    return {"levels": list(found.levels), "domains": domains}


def _triples(expected: Document) -> set[tuple[str, str, str]]:
    return {(entry["workload"], entry["reason"], entry["by"]) for entry in expected.get("preempted") or ()}


def _usage(nodes: Mapping[str, QuotaNode]) -> Document:
    result: Document = {}
    for name, node in nodes.items():
        for (flavor, resource), amount in node.usage.items():
            if amount:
                result.setdefault(name, {}).setdefault(flavor, {})[resource] = amount
    return result


def _waiting(world: World) -> tuple[Document, Document]:
    active, parked = {}, {}
    for name, pending in world.state.pending.items():
        if pending.has_active:
            active[name] = [str(key) for key in pending.active()]
        if pending.parked:
            rows = sorted(pending.parked.values(), key=pending.order)
            parked[name] = [str(row.key) for row in rows]
    return active, parked


def _attempts(world: World, plan: Plan) -> Document:
    result: Document = {}
    for key in plan.attempts:
        result.setdefault(_tree(world, key), []).append(str(key))
    return result


def _tree(world: World, key: Key) -> str:
    name = world.state.local_queues[world.state.rows[key].queue].cluster_queue
    node = world.state.hierarchy.queues[name]
    root = hierarchy.root_of(node)
    return f"clusterqueue/{name}" if root is node else f"cohort/{root.name}"


def _pending(world: World, plan: Plan) -> Document:
    attempted = set(plan.attempts)
    return {str(step.key): step.reason for step in plan.requeues if step.key in attempted}


RUNNERS = {"f[0-9]-*": run}

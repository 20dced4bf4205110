"""The trace of a cycle: what it decided and how queues and usage stand after it, as recorded scenarios hold it.

Amounts are ints: cpu in milli-units, everything else in base units. ``differences`` compares in the order that names
the cause first: admissions and preemptions, usage, queues, attempts.
"""

from collections.abc import Iterator, Mapping

from worker_agent.api import quantity
from worker_agent.api.document import Document
from worker_agent.engine import hierarchy
from worker_agent.engine.plan import Plan
from worker_agent.engine.quota import QuotaNode
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas import topology_assignment


def entry(state: ClusterState, plan: Plan | None) -> Document:
    """The trace entry of a cycle that has just run; ``plan`` None: no queue had a head."""
    queue, parked = waiting(state)
    result: Document = {
        "queue": queue,
        "inadmissible": parked,
        "usage": usage(state.hierarchy.queues),
        "cohortUsage": usage(state.hierarchy.cohorts),
    }
    if plan is None:
        return {"noop": True, **result}
    preempted = [{"workload": str(p.key), "reason": p.reason, "by": str(p.preemptor)} for p in plan.preemptions]
    attempted = set(plan.attempts)
    return {
        "attempts": _attempts(state, plan),
        "attemptOrder": [str(key) for key in plan.attempts],
        "admitted": {str(step.key): _admission(step.cluster_queue, step.admission) for step in plan.admissions},
        "preempted": sorted(preempted, key=lambda one: one["workload"]),
        "pending": {str(step.key): step.reason for step in plan.requeues if step.key in attempted},
        **result,
    }


def differences(expected: Document, actual: Document) -> list[str]:
    """One line per difference between a recorded entry and ours."""
    found = [*_compare("noop", bool(expected.get("noop")), bool(actual.get("noop")))]
    found += _compare("admitted", expected.get("admitted") or {}, actual.get("admitted") or {})
    found += _compare("preempted", _triples(expected), _triples(actual))
    for part in ("usage", "cohortUsage", "queue", "inadmissible", "attempts"):
        found += _compare(part, expected.get(part) or {}, actual.get(part) or {})
    if "attemptOrder" in expected:
        found += _compare("attemptOrder", expected["attemptOrder"], actual.get("attemptOrder") or [])
    found += _compare("pending", expected.get("pending") or {}, actual.get("pending") or {})
    return found


def waiting(state: ClusterState) -> tuple[Document, Document]:
    """The active and the parked workloads of every ClusterQueue that has any, in queue order."""
    active, parked = {}, {}
    for name, pending in state.pending.items():
        if pending.has_active:
            active[name] = [str(key) for key in pending.active()]
        if pending.parked:
            rows = sorted(pending.parked.values(), key=pending.order)
            parked[name] = [str(row.key) for row in rows]
    return active, parked


def usage(nodes: Mapping[str, QuotaNode]) -> Document:
    """By node, flavor and resource; zeros left out."""
    result: Document = {}
    for name, node in nodes.items():
        for (flavor, resource), amount in node.usage.items():
            if amount:
                result.setdefault(name, {}).setdefault(flavor, {})[resource] = amount
    return result


def _admission(cluster_queue: str, admission: Document) -> Document:
    return {"clusterQueue": cluster_queue, "podSets": [_pod_set(one) for one in admission["podSetAssignments"]]}


def _pod_set(pod_set: Document) -> Document:
    return {
        "name": pod_set["name"],
        "flavors": pod_set.get("flavors", {}),
        "resourceUsage": {name: quantity.value(name, n) for name, n in pod_set.get("resourceUsage", {}).items()},
        "count": pod_set["count"],
        "topologyAssignment": _domains(pod_set.get("topologyAssignment")),
    }


def _domains(document: Document | None) -> Document | None:
    """Domain by domain, where the API has them compressed."""
    found = topology_assignment.decode(document)
    if found is None:
        return None
    domains = [{"values": list(domain.values), "count": domain.pods} for domain in found.domains]
    return {"levels": list(found.levels), "domains": domains}


def _attempts(state: ClusterState, plan: Plan) -> Document:
    """Attempts by tree: the order between trees is nobody's promise."""
    queues = {entry.row.key: entry.queue_name for entry in plan.entries}
    result: Document = {}
    for key in plan.attempts:
        result.setdefault(_tree(state, queues[key]), []).append(str(key))
    return result


def _tree(state: ClusterState, name: str) -> str:
    node = state.hierarchy.queues[name]
    root = hierarchy.root_of(node)
    return f"clusterqueue/{name}" if root is node else f"cohort/{root.name}"


def _triples(found: Document) -> list[tuple[str, str, str]]:
    return sorted({(one["workload"], one["reason"], one["by"]) for one in found.get("preempted") or ()})


def _compare(what: str, expected: object, actual: object) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if expected.get(key) != actual.get(key):
                yield f"{what}[{key}]: recorded {expected.get(key)}, now {actual.get(key)}"
    elif expected != actual:
        yield f"{what}: recorded {expected}, now {actual}"

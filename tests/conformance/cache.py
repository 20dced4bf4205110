"""Recorded behaviour of the reference's cache: quota nodes, usage, activity, snapshots, shares (conformance/README)."""

from collections.abc import Iterator, Mapping

from tests.conformance import cache_topology, engine_objects, quota_nodes
from tests.conformance.case import Document
from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.engine import fair_sharing, hierarchy, policy, quota
from worker_agent.engine.quota import QuotaNode
from worker_agent.engine.state import ClusterState
from worker_agent.engine.view import EngineView

NOW = timestamps.parse("2026-01-01T00:00:00Z")


def _state(case: Document, configuration: Document | None = None) -> ClusterState:
    return ClusterState(policy.resolve(case["featureGates"], configuration))


def _loaded(case: Document, configuration: Document | None = None) -> ClusterState:
    state = _state(case, configuration)
    engine_objects.load(state, case["objects"], NOW)
    return state


def _use(state: ClusterState, usage: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    for name, amounts in usage.items():
        state.add_usage(state.cluster_queues[name], quota_nodes.flat(amounts))


def _expect(what: str, expected: object, actual: object) -> list[str]:
    return [] if expected == actual else [f"{what}: expected {expected}, got {actual}"]


# -- quota -----------------------------------------------------------------------------------------------------------


def available(case: Document) -> list[str]:
    state = _loaded(case)
    _use(state, case.get("usage") or {})
    found = []
    for part, ask in (("available", quota.exposed), ("potentiallyAvailable", quota.potential_available)):
        for name, expected in case["expect"][part].items():
            node = state.hierarchy.queues[name]
            actual = quota_nodes.nested({fr: ask(node, fr) for fr in quota_nodes.flat(expected)})
            found += _expect(f"{part}[{name}]", expected, actual)
    return found


def lendable(case: Document) -> list[str]:
    state = _loaded(case)
    actual = hierarchy.lendable(state.hierarchy.cohorts[case["cohort"]])
    return _expect("lendable", case["expect"]["lendable"], actual)


def steps(case: Document) -> list[str]:
    """Cohorts and ClusterQueues change one by one; nodes are compared after each step."""
    state = _state(case)
    found = []
    for index, step in enumerate(case["steps"]):
        sound = True
        if step["op"] == "deleteCohort":
            state.delete_cohort(step["name"])
        else:
            sound = engine_objects.put(state, step["object"], NOW)
        found += _expect(f"step {index}: error", step["error"] is None, sound)
        found += _nodes(f"step {index}", step["cohortNodesAfter"], state.hierarchy.cohorts)
    final = case["expect"]
    wanted = {name: cohort["node"] for name, cohort in final["cohorts"].items()}
    found += _nodes("cohorts", wanted, state.hierarchy.cohorts)
    for name, cohort in final["cohorts"].items():
        found += _expect(f"cohorts[{name}].parent", cohort["parent"], state.hierarchy.cohorts[name].parent_name)
    for name, queue in final["clusterQueues"].items():
        found += quota_nodes.differences(f"clusterQueues[{name}]", queue["node"], state.hierarchy.queues[name])
        found += _expect(f"clusterQueues[{name}].cohort", queue["cohort"], state.cluster_queues[name].cohort_name)
    return found


def _nodes(where: str, expected: Mapping[str, Document], nodes: Mapping[str, QuotaNode]) -> Iterator[str]:
    yield from _expect(f"{where}: cohorts", sorted(expected), sorted(nodes))
    for name, node in expected.items():
        if name in nodes and not hierarchy.has_cycle(nodes[name]):
            yield from quota_nodes.differences(f"{where}: {name}", node, nodes[name])


def borrowing(case: Document) -> list[str]:
    state = _loaded(case)
    _use(state, case["usage"])
    node = state.hierarchy.queues[case["clusterQueue"]]
    requested = quota_nodes.flat(case["requested"])
    borrowed = fair_sharing.dominant_share(node).borrowed
    on_requested = any(fr in borrowed for fr, amount in requested.items() if amount)
    return [
        *_expect("isBorrowing", case["expect"]["isBorrowing"], bool(borrowed)),
        *_expect("isBorrowingOn", case["expect"]["isBorrowingOn"], on_requested),
    ]


def shares(case: Document) -> list[str]:
    state = _loaded(case)
    _use(state, case["usage"])
    extra = quota_nodes.flat(case.get("additionalRequest") or {})
    found = []
    with state.trial():
        state.add_usage(state.cluster_queues["cq"], extra)
        for kind, nodes in (("clusterQueues", state.hierarchy.queues), ("cohorts", state.hierarchy.cohorts)):
            for name, expected in case["expect"][kind].items():
                share = fair_sharing.dominant_share(nodes[name])
                weighted = "unlimited" if share.status == fair_sharing.INFINITE_SHARE else share.status
                found += _expect(f"{name}: borrowing", expected["borrowing"], bool(share.borrowed))
                found += _expect(f"{name}: resource", expected["dominantResource"], share.resource)
                found += _expect(f"{name}: share", expected["weightedShare"], weighted)
    return found


# -- status ----------------------------------------------------------------------------------------------------------


def _view(case: Document) -> EngineView:
    return _loaded(case).publish(NOW)


def cluster_queue_usage(case: Document) -> list[str]:
    picture, expected = _view(case).cluster_queues[case["clusterQueue"]], case["expect"]
    return [
        *_expect("reservedResources", expected["reservedResources"], picture.flavors_reservation),
        *_expect("admittedResources", expected["admittedResources"], picture.flavors_usage),
        *_expect("reservingWorkloads", expected.get("reservingWorkloads", 0), picture.holdings.reserving),
        *_expect("admittedWorkloads", expected.get("admittedWorkloads", 0), picture.holdings.admitted),
    ]


def local_queue_usage(case: Document) -> list[str]:
    picture, expected = _view(case).local_queue(Key.parse(case["localQueue"])), case["expect"]
    if picture is None:
        return [f"no LocalQueue {case['localQueue']}"]
    return [
        *_expect("reservedResources", expected.get("reservedResources") or [], picture.flavors_reservation),
        *_expect("admittedResources", expected.get("admittedResources") or [], picture.flavors_usage),
        *_expect("reservingWorkloads", expected.get("reservingWorkloads", 0), picture.holdings.reserving),
        *_expect("admittedWorkloads", expected.get("admittedWorkloads", 0), picture.holdings.admitted),
    ]


def readiness(case: Document) -> list[str]:
    name, expected = case["clusterQueue"], case["expect"]
    if case.get("terminate"):
        for document in case["objects"]:
            if document["kind"] == "ClusterQueue" and document["metadata"]["name"] == name:
                document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    state = _loaded(case)
    activity = state.publish(NOW).cluster_queue_activity(name)
    queue = state.cluster_queues.get(name)
    return [
        *_expect("status", expected["status"], str(activity.active)),
        *_expect("active", expected["active"], activity.active),
        *_expect("reason", expected["reason"], activity.reason),
        *_expect("message", expected["message"], activity.message),
        *_expect("terminating", expected["terminating"], queue is not None and queue.terminating),
    ]


# -- snapshots -------------------------------------------------------------------------------------------------------


def snapshot(case: Document) -> list[str]:
    return list(_world_differences(case, _loaded(case)))


def add_and_remove(case: Document) -> list[str]:
    """Workloads leave and come back inside a trial, as searches do it."""
    state = _loaded(case)
    with state.trial():
        for key in case.get("remove") or ():
            state.remove_reservation(state.rows[Key.parse(key)])
        for key in case.get("add") or ():
            state.restore_reservation(state.rows[Key.parse(key)])
        return list(_world_differences(case, state))


def _world_differences(case: Document, state: ClusterState) -> Iterator[str]:
    expected = case["expect"]
    listed = {name: queue for name, queue in state.cluster_queues.items() if state.schedulable(queue)}
    unlisted = sorted(state.cluster_queues.keys() - listed.keys())
    yield from _expect("inactiveClusterQueues", sorted(expected.get("inactiveClusterQueues") or []), unlisted)
    yield from _expect("clusterQueues", sorted(expected["clusterQueues"]), sorted(listed))
    for name, wanted in expected["clusterQueues"].items():
        if name not in listed:
            continue
        yield from quota_nodes.differences(name, wanted["node"], listed[name].node)
        yield from _expect(f"{name}.cohort", wanted["cohort"], listed[name].cohort_name)
        held = sorted(str(key) for key in listed[name].reservations)
        yield from _expect(f"{name}.workloads", sorted(wanted["workloads"] or ()), held)
    sound = {name: node for name, node in state.hierarchy.cohorts.items() if not hierarchy.has_cycle(node)}
    wanted = {name: cohort["node"] for name, cohort in expected["cohorts"].items()}
    yield from _nodes("cohorts", wanted, sound)
    for name, cohort in expected["cohorts"].items():
        if name in sound:
            yield from _expect(f"{name}.parent", cohort["parent"], sound[name].parent_name)


RUNNERS = {
    "TestAvailable": available,
    "TestCohortLendable": lendable,
    "TestCohortCycles": steps,
    "TestDeleteCohortUpdatesAncestorSubtreeQuota": steps,
    "TestClusterQueueUsage": cluster_queue_usage,
    "TestLocalQueueUsage": local_queue_usage,
    "TestClusterQueueReadiness": readiness,
    "TestIsBorrowingOn": borrowing,
    "TestDominantResourceShare": shares,
    "TestFindTopologyAssignments*": cache_topology.find,
    "TestSelectOptimalDomainSetToFit": cache_topology.optimal_set,
    "TestPlaceSlicesOnDomainsBalanced": cache_topology.hand_out,
    "TestSnapshot": snapshot,
    "TestSnapshotAddRemoveWorkload*": add_and_remove,
}

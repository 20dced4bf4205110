"""How objects and events change the live state (spec/engine 5.1, 5.10, 17)."""

import pytest

from tests.builders import admitted, cluster_queue, flavor, local_queue, namespace, single_queue, workload
from tests.conformance.engine_objects import decode
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState

CPU = ("default", "cpu")
KEY = Key("ns", "w")


def used(state: ClusterState, queue: str = "q") -> int:
    return state.hierarchy.queues[queue].usage.get(CPU, 0)


def one(name: str = "w", **fields: object) -> EngineWorld:
    world = EngineWorld(single_queue())
    world.put(workload(name, **fields))  # type: ignore[arg-type]
    return world


@pytest.mark.parametrize(
    "unqueueable",
    [
        {"active": False},
        {"status": {"conditions": [{"type": "Finished", "status": "True"}]}},
        {"status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "OnHold"}]}},
        {"status": {"conditions": [{"type": "WaitingForReplacementPods", "status": "True"}]}},
        {"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/gate"}}},
    ],
    ids=["inactive", "finished", "on hold", "waits for pods", "gated"],
)
def test_workloads_that_may_not_queue_wait_nowhere(unqueueable: Document) -> None:
    assert len(one(**unqueueable).state.pending["q"]) == 0


def test_a_workload_waits_for_its_local_queue() -> None:
    world = EngineWorld([namespace(), flavor(), cluster_queue()])
    world.put(workload("w"))
    world.put(local_queue())
    assert world.active("q") == ["w"]


def test_a_workload_waits_for_its_cluster_queue() -> None:
    world = EngineWorld([namespace(), flavor(), local_queue()])
    world.put(workload("w"))
    world.put(cluster_queue())
    assert world.active("q") == ["w"]


def test_a_stopped_local_queue_takes_its_workloads_out_and_gives_them_back() -> None:
    world = one()
    world.put(local_queue(stopPolicy="Hold"))
    assert len(world.state.pending["q"]) == 0
    world.put(local_queue())
    assert world.active("q") == ["w"]


def test_a_workload_moves_with_its_queue_name() -> None:
    world = one()
    world.put(cluster_queue("other"), local_queue("lo", "other"))
    world.put(workload("w", queue="lo"))
    assert (world.active("q"), world.active("other")) == ([], ["w"])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"stopPolicy": "Hold"}, "Stopped"), ({"cohortName": "c"}, "Ready")],
)
def test_a_stopped_cluster_queue_gives_no_head(spec: Document, reason: str) -> None:
    world = one()
    world.put(cluster_queue("q", **spec))
    assert world.state.activity("q").reason == reason
    assert len(world.state.heads(world.now)) == (reason == "Ready")


def test_a_queue_becomes_active_with_its_last_flavor() -> None:
    world = EngineWorld([namespace(), cluster_queue(), local_queue()])
    world.put(workload("w"))
    assert world.state.heads(world.now) == []
    world.put(flavor())
    assert [head.key for head in world.state.heads(world.now)] == [KEY]


def test_assumed_quota_counts_at_once() -> None:
    world = one(cpu=3)
    world.decide()
    assert used(world.state) == 3000


def test_an_update_before_our_write_shows_does_not_queue_the_workload_again() -> None:
    world = one(cpu=3)
    heads = world.state.heads(world.now)
    run_cycle(world.state, heads, world.policy, world.now)
    world.put(workload("w", cpu=3, metadata={"labels": {"a": "b"}}))
    assert len(world.state.pending["q"]) == 0
    assert used(world.state) == 3000


def test_a_failed_write_gives_the_quota_back_and_the_workload_its_turn() -> None:
    world = one(cpu=3)
    heads = world.state.heads(world.now)
    run_cycle(world.state, heads, world.policy, world.now)
    world.state.forget(KEY, world.now)
    assert used(world.state) == 0
    assert world.active("q") == ["w"]


OWNED = {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "w", "uid": "u", "controller": True}]}


def test_a_deactivated_workload_keeps_its_quota_while_its_pods_stop() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2, active=False, metadata=OWNED)])
    assert used(world.state) == 2000


def test_a_deactivated_workload_that_nobody_owns_keeps_nothing() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2, active=False)])
    assert used(world.state) == 0


def test_a_deactivated_copy_keeps_its_quota_for_its_job_may_come_before_it_is_released() -> None:
    copy = {"labels": {"kueue.x-k8s.io/multikueue-origin": "multikueue"}}
    world = EngineWorld([*single_queue(), admitted("w", cpu=2, active=False, metadata=copy)])
    assert used(world.state) == 2000


def test_a_deactivation_before_our_write_shows_frees_nothing_yet() -> None:
    world = one(cpu=3)
    run_cycle(world.state, world.state.heads(world.now), world.policy, world.now)
    world.put(workload("w", cpu=3, active=False))
    assert used(world.state) == 3000
    world.put(admitted("w", cpu=3, active=False, metadata=OWNED))
    assert used(world.state) == 3000


def test_a_failed_write_for_a_workload_that_was_deactivated_frees_its_quota() -> None:
    world = one(cpu=3)
    run_cycle(world.state, world.state.heads(world.now), world.policy, world.now)
    world.put(workload("w", cpu=3, active=False))
    world.state.forget(KEY, world.now)
    assert (used(world.state), len(world.state.pending["q"])) == (0, 0)


def test_forgetting_what_was_not_assumed_changes_nothing() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2)])
    world.state.forget(KEY, world.now)
    assert used(world.state) == 2000


def test_room_can_be_assumed_for_a_workload_that_does_not_exist_yet() -> None:
    world = EngineWorld(single_queue())
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "2"}, "count": 1}
    admission = {"clusterQueue": "q", "podSetAssignments": [assignment]}
    world.state.assume_admission(decode(workload("w", cpu=2), Workload), admission, world.now)
    assert used(world.state) == 2000
    world.put(workload("w", cpu=2))
    assert used(world.state) == 2000
    world.put(admitted("w", cpu=2))
    assert used(world.state) == 2000
    world.finish("ns/w")
    assert used(world.state) == 0


_RACK = {"domainCount": 1, "valuesPerLevel": [{"universal": "r1"}], "podCounts": {"universal": 1}}


def test_an_assumed_place_in_a_topology_counts_too() -> None:
    world = one()
    place = {"levels": ["rack"], "slices": [_RACK]}
    (assignment,) = admitted("w", cpu=2)["status"]["admission"]["podSetAssignments"]
    assignment = {**assignment, "topologyAssignment": place}
    admission = {"clusterQueue": "q", "podSetAssignments": [assignment]}
    world.state.assume_admission(decode(workload("w", cpu=2), Workload), admission, world.now)
    assert used(world.state) == 2000


def test_assumed_room_of_a_workload_that_never_came_vanishes() -> None:
    world = EngineWorld(single_queue())
    world.state.assume_admission(decode(workload("w"), Workload), {"clusterQueue": "q"}, world.now)
    world.state.forget(KEY, world.now)
    assert world.state.rows == {}


def test_a_released_workload_queues_again_with_its_old_age() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2)])
    world.put(workload("w", cpu=2))
    assert used(world.state) == 0
    assert world.active("q") == ["w"]


def test_reclaimed_pods_free_their_quota() -> None:
    """Example 29."""
    world = EngineWorld([*single_queue(cpu=9), admitted("w", cpu=3, count=3)])
    document = world.workload(KEY)
    document["status"]["reclaimablePods"] = [{"name": "main", "count": 1}]
    world.put(document)
    assert used(world.state) == 6000


@pytest.mark.parametrize(("reclaimed", "expected"), [(3, 4000), (8, 2000)])
def test_reclaim_leaves_a_reduced_admission_alone_until_it_is_smaller(reclaimed: int, expected: int) -> None:
    document = admitted("w", cpu=1, count=4)
    document["spec"]["podSets"][0]["count"] = 10
    document["status"]["reclaimablePods"] = [{"name": "main", "count": reclaimed}]
    assert used(EngineWorld([*single_queue(cpu=9), document]).state) == expected


def test_reservations_in_an_unknown_queue_count_when_it_appears() -> None:
    world = EngineWorld([namespace(), flavor(), local_queue(), admitted("w", cpu=2)])
    world.put(cluster_queue())
    assert used(world.state) == 2000
    assert world.state.cluster_queues["q"].tally.admitted == 1


def test_reservations_survive_the_deletion_of_their_queue() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2)])
    world.state.delete_cluster_queue("q")
    world.put(cluster_queue())
    assert used(world.state) == 2000


def test_a_recreated_workload_starts_afresh() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2)])
    world.put(workload("w", cpu=1, metadata={"uid": "another"}))
    assert used(world.state) == 0
    assert world.active("q") == ["w"]


def test_an_unreadable_template_is_told_and_harms_nobody() -> None:
    world = one(cpu="a lot")
    world.cycle()
    assert world.message("ns/w").startswith("resources validation failed: ")
    assert world.reason("ns/w") == "Misconfigured"


def test_priority_boost_counts_behind_its_gate() -> None:
    boosted = workload("w", metadata={"annotations": {"kueue.x-k8s.io/priority-boost": "7"}})
    for gate, expected in ((False, 0), (True, 7)):
        world = EngineWorld(single_queue(), Policy(priority_boost=gate))
        world.put(boosted)
        assert world.state.rows[KEY].priority == expected


def test_finished_workloads_leave_nothing_behind() -> None:
    world = EngineWorld([*single_queue(), admitted("w", cpu=2)])
    world.finish("ns/w")
    assert world.state.rows == {}
    assert world.state.cluster_queues["q"].reservations == {}
    assert world.state.unready == {}

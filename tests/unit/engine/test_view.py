"""The published picture (spec/engine 17 and 18)."""

from tests.builders import (
    admission_check,
    admitted,
    cluster_queue,
    cohort,
    flavor,
    local_queue,
    namespace,
    quota,
    single_queue,
    workload,
)
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.policy import Policy
from worker_agent.engine.view import EngineView

LQ = Key("ns", "lq")


def publish(world: EngineWorld) -> EngineView:
    return world.state.publish(world.now)


def row(name: str, resource: str, total: str, borrowed: str) -> Document:
    return {"name": name, "resources": [{"name": resource, "total": total, "borrowed": borrowed}]}


def test_reservation_counts_all_and_usage_only_the_admitted() -> None:
    world = EngineWorld([*single_queue(), admitted("a", cpu=1), admitted("b", cpu=2, admitted=False)])
    picture = publish(world).cluster_queues["q"]
    assert picture.flavors_reservation == [row("default", "cpu", "3", "0")]
    assert picture.flavors_usage == [row("default", "cpu", "1", "0")]
    assert (picture.holdings.reserving, picture.holdings.admitted) == (2, 1)


def test_borrowed_is_what_goes_beyond_the_nominal_quota() -> None:
    world = EngineWorld([*single_queue(cohort="c", cpu=2), cluster_queue("lender", cohort="c"), admitted("a", cpu=5)])
    assert publish(world).cluster_queues["q"].flavors_reservation == [row("default", "cpu", "5", "3")]


def test_every_covered_resource_is_listed_by_name() -> None:
    world = EngineWorld([flavor(), cluster_queue("q", {"default": {"memory": "1Gi", "cpu": 1}})])
    rows = publish(world).cluster_queues["q"].flavors_reservation
    assert [entry["name"] for entry in rows[0]["resources"]] == ["cpu", "memory"]


def test_pending_workloads_count_wherever_they_wait() -> None:
    world = EngineWorld([*single_queue(cpu=1), admitted("a", cpu=1)])
    world.put(workload("parked", cpu=1), workload("active", cpu="0.5"))
    world.cycle()
    world.state.heads(world.now)
    view = publish(world)
    local = view.local_queue(LQ)
    assert local is not None
    assert (view.cluster_queues["q"].pending, local.pending) == (2, 2)


def test_positions_mix_parked_and_active_workloads_by_rank() -> None:
    world = EngineWorld([*single_queue(cpu=1), admitted("a", cpu=1)])
    world.put(workload("high", cpu=1, priority=5), workload("low", cpu="0.5"))
    world.cycle()
    view = publish(world)
    assert view.cluster_queues["q"].order == (Key("ns", "high"), Key("ns", "low"))
    assert view.position(Key("ns", "low"), "q") == 1
    assert view.position(Key("ns", "absent"), "q") is None


def test_a_local_queue_shows_only_its_own_workloads() -> None:
    world = EngineWorld([*single_queue(), local_queue("other"), admitted("a", cpu=1), admitted("b", queue="other")])
    local = publish(world).local_queue(LQ)
    assert local is not None
    assert local.flavors_usage == [{"name": "default", "resources": [{"name": "cpu", "total": "1"}]}]
    assert local.holdings.admitted == 1


def test_a_local_queue_says_what_is_wrong_with_it() -> None:
    objects = [namespace(), flavor(), cluster_queue("q", stopPolicy="Hold"), local_queue(), local_queue("lost", "none")]
    view = publish(EngineWorld([*objects, local_queue("held", stopPolicy="Hold")]))
    found = {key.name: view.local_queue(key) for key in view.local_queues()}
    reasons = {name: picture.activity.reason for name, picture in found.items() if picture}
    assert reasons == {"lq": "ClusterQueueIsInactive", "lost": "ClusterQueueDoesNotExist", "held": "Stopped"}


def test_all_problems_of_a_cluster_queue_are_told_the_first_is_the_reason() -> None:
    strategy = {"admissionChecks": [{"name": "gone"}, {"name": "idle"}]}
    queue = cluster_queue("q", stopPolicy="Hold", admissionChecksStrategy=strategy)
    activity = publish(EngineWorld([admission_check("idle", active=False), queue])).cluster_queue_activity("q")
    assert (activity.active, activity.reason) == (False, "Stopped")
    assert activity.message == (
        "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): default, "
        "references missing AdmissionCheck(s): gone, references inactive AdmissionCheck(s): idle."
    )


def test_a_cycle_of_cohorts_does_not_show_in_the_active_condition() -> None:
    """As in Kueue: the queue admits nothing, and its workloads are told that it is inactive."""
    quotas = {"default": {"cpu": 2}}
    cohorts = [cohort("a", quotas, parent="b"), cohort("b", quotas, parent="a")]
    world = EngineWorld([*cohorts, *single_queue(cohort="a", cpu=2)])
    world.put(workload("w", cpu=1))
    plan = world.cycle()
    assert publish(world).cluster_queue_activity("q").reason == "Ready"
    assert plan is not None
    assert [(step.reason, step.message) for step in plan.requeues] == [("Suspended", "ClusterQueue q is inactive")]


def test_multikueue_checks_are_one_for_all_flavors_and_alone() -> None:
    multikueue, provisioning = "kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/provisioning-request"
    checks = [{"name": "mk", "onFlavors": ["a"]}, {"name": "pr"}]
    queue = cluster_queue("q", {"a": {"cpu": 1}, "b": {"cpu": 1}}, admissionChecksStrategy={"admissionChecks": checks})
    world = EngineWorld(
        [
            flavor("a"),
            flavor("b"),
            admission_check("mk", controller=multikueue),
            admission_check("pr", controller=provisioning),
            queue,
        ]
    )
    activity = publish(world).cluster_queue_activity("q")
    assert activity.reason == "MultiKueueAdmissionCheckAppliedPerFlavor"
    assert activity.message == (
        "Can't admit new workloads: Cannot specify MultiKueue AdmissionCheck per flavor, found: mk, "
        "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: mk, pr."
    )


def test_a_view_does_not_change_with_the_state() -> None:
    world = EngineWorld([*single_queue(), admitted("a", cpu=1)])
    before = publish(world)
    world.finish("ns/a")
    world.put(workload("w"))
    assert before.cluster_queues["q"].holdings.reserving == 1
    assert before.cluster_queues["q"].pending == 0
    assert publish(world).cluster_queues["q"].holdings.reserving == 0


def test_a_queue_that_did_not_change_is_not_painted_again() -> None:
    world = EngineWorld([*single_queue(), cluster_queue("other")])
    before = publish(world)
    world.put(workload("w"))
    after = publish(world)
    assert after.cluster_queues["other"] is before.cluster_queues["other"]
    assert after.cluster_queues["q"] is not before.cluster_queues["q"]


def test_shares_are_shown_with_fair_sharing_only() -> None:
    """Example 21."""
    for weight, expected in (("1", 200), ("2", 100), ("0.5", 400), ("0", 2**63 - 1)):
        queue = cluster_queue("q", {"f": {"gpu": quota(5)}}, cohort="c", fairSharing={"weight": weight})
        objects = [flavor("f"), queue, cluster_queue("lender", {"f": {"gpu": 5}}, cohort="c")]
        world = EngineWorld(objects, Policy(fair_sharing=True))
        world.state.add_usage(world.state.cluster_queues["q"], {("f", "gpu"): 7})
        assert publish(world).cluster_queues["q"].weighted_share == expected
    assert publish(EngineWorld(objects)).cluster_queues["q"].weighted_share is None

"""Faults in the choice of flavors and in what wakes or holds back a queue: B60, B61, B62, B79."""

import pytest

from tests.builders import (
    admitted,
    cluster_queue,
    container,
    flavor,
    local_queue,
    namespace,
    pod_set,
    quota,
    single_queue,
    workload,
)
from tests.engine_world import EngineWorld
from worker_agent.api.meta import Key

TAINT = {"key": "gpu", "value": "true", "effect": "NoSchedule"}


def reserved(world, name):
    return world.state.rows[Key("ns", name)].reserved_in != ""


def flavor_of(world, name):
    row = world.state.rows[Key("ns", name)]
    return row.pod_sets[0].flavors["cpu"] if row.reserved_in else ""


class TestB60KeysOfOneFlavorAreNotDemandedFromAnother:
    def world(self, spec):
        """``f2``, the only flavor with a zone, is full."""
        queue = cluster_queue("q", {"f1": {"cpu": 2}, "f2": {"cpu": 2}})
        flavors = [flavor("f1", labels={"pool": "a"}), flavor("f2", labels={"pool": "b", "zone": "z1"})]
        wanted = workload("w", pod_set(requests={"cpu": 1}, spec=spec))
        world = EngineWorld([namespace(), *flavors, queue, local_queue(), admitted("x", cpu=2, flavor="f2"), wanted])
        world.cycle()
        return world

    def test_selector_by_a_key_that_the_flavor_does_not_declare(self):
        assert flavor_of(self.world({"nodeSelector": {"zone": "z1"}}), "w") == "f1"

    def test_selector_by_a_key_that_it_does_declare(self):
        assert flavor_of(self.world({"nodeSelector": {"pool": "b"}}), "w") == ""

    @pytest.mark.parametrize(("key", "value", "got"), [("zone", "z1", "f1"), ("pool", "b", "")])
    def test_the_same_by_required_affinity(self, key, value, got):
        terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
        assert flavor_of(self.world({"affinity": affinity}), "w") == got


class TestB61EditsOfAFlavorWakeWhatWaitsForIt:
    def waiting(self, before, **spec):
        world = EngineWorld(
            [namespace(), before, cluster_queue(), local_queue(), workload("w", pod_set(requests={"cpu": 1}, **spec))]
        )
        world.cycle()
        assert world.parked("q") == ["w"]
        return world

    @pytest.mark.parametrize(
        "after",
        [
            flavor(),
            flavor(nodeTaints=[TAINT], tolerations=[{"key": "gpu", "operator": "Exists"}]),
            flavor(nodeTaints=[TAINT | {"effect": "PreferNoSchedule"}]),
        ],
        ids=["taint removed", "toleration added", "taint softened"],
    )
    def test_taints_and_tolerations(self, after):
        world = self.waiting(flavor(nodeTaints=[TAINT]))
        world.put(after)
        world.cycle()
        assert reserved(world, "w")

    def test_labels(self):
        world = self.waiting(flavor(labels={"pool": "a"}), spec={"nodeSelector": {"pool": "b"}})
        world.put(flavor(labels={"pool": "b"}))
        world.cycle()
        assert reserved(world, "w")

    def test_flavor_deleted_and_made_again_without_the_taint(self):
        world = self.waiting(flavor(nodeTaints=[TAINT]))
        world.state.delete_resource_flavor("default")
        world.observe()
        assert world.cycle().attempts == ()
        world.put(flavor())
        world.cycle()
        assert reserved(world, "w")

    def test_added_taint_evicts_nobody(self):
        world = EngineWorld([*single_queue(), admitted("a", cpu=3), workload("w", cpu=1)])
        world.put(flavor(nodeTaints=[TAINT]))
        world.cycle()
        assert reserved(world, "a")
        assert not reserved(world, "w")
        assert not world.plan.preemptions


class TestB61OtherObjectsThatAWorkloadDependsOn:
    """The same kind of fault: an edit that lets a parked workload in must give it a turn."""

    def waiting(self, *objects):
        world = EngineWorld([namespace(), flavor(), *objects])
        world.cycle()
        assert world.parked("q") == ["w"]
        return world

    def lets_in(self, world, document):
        world.put(document)
        world.cycle()
        return reserved(world, "w")

    def test_namespace_labels(self):
        selective = cluster_queue(namespaceSelector={"matchLabels": {"team": "a"}})
        assert self.lets_in(self.waiting(selective, local_queue(), workload()), namespace(team="a"))

    def test_namespace_selector(self):
        selective = cluster_queue(namespaceSelector={"matchLabels": {"team": "a"}})
        assert self.lets_in(self.waiting(selective, local_queue(), workload()), cluster_queue())

    def test_limit_range_raised(self):
        world = self.waiting(cluster_queue(), local_queue(), limit_range(max={"cpu": "1"}), workload(cpu=2))
        assert self.lets_in(world, limit_range(max={"cpu": "2"}))

    def test_limit_range_deleted(self):
        world = self.waiting(cluster_queue(), local_queue(), limit_range(max={"cpu": "1"}), workload(cpu=2))
        world.state.delete_limit_range(Key("ns", "limits"))
        world.observe()
        world.cycle()
        assert reserved(world, "w")

    def test_default_request_lowered(self):
        silent = workload("w", pod_set(requests={}))
        world = self.waiting(cluster_queue(), local_queue(), limit_range(defaultRequest={"cpu": "9"}), silent)
        assert self.lets_in(world, limit_range(defaultRequest={"cpu": "2"}))
        assert world.state.cluster_queues["q"].node.usage == {("default", "cpu"): 2000}

    def test_overhead_of_the_runtime_class(self):
        boxed = workload("w", pod_set(requests={"cpu": 3}, spec={"runtimeClassName": "box"}))
        world = self.waiting(cluster_queue(), local_queue(), runtime_class("box", cpu="2"), boxed)
        assert self.lets_in(world, runtime_class("box", cpu="1"))

    def test_unchanged_objects_wake_nobody(self):
        world = self.waiting(cluster_queue(), local_queue(), limit_range(max={"cpu": "1"}), workload(cpu=2))
        world.put(limit_range(max={"cpu": "1"}), namespace(), flavor(), local_queue(), runtime_class("box"))
        assert world.parked("q") == ["w"]


def limit_range(**item):
    limits = [{"type": "Container", **item}]
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits", "namespace": "ns"},
        "spec": {"limits": limits},
    }


def runtime_class(name, **overhead):
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name},
        "overhead": {"podFixed": overhead},
    }


class TestB62StrictQueueKeepsItsHeadWhileThatIsEvicted:
    def world(self):
        """``h`` of 6 cpu runs in the strict queue, 2 of them borrowed; ``b`` takes back what it lent."""
        strict = cluster_queue("q", cohort="c", strict=True)
        lender = cluster_queue("lender", cohort="c", preemption={"reclaimWithinCohort": "Any"})
        head = admitted("h", cpu=6, priority=50)
        return EngineWorld(
            [
                namespace(),
                flavor(),
                strict,
                lender,
                local_queue(),
                local_queue("lender", "lender"),
                head,
                workload("l", cpu=3, created="2026-01-01T11:00:00Z"),
                workload("b", cpu=4, queue="lender"),
            ]
        )

    def release(self, world, requeued=True):
        """What the job's controller writes once the pods of ``h`` have stopped, in one write."""
        key = Key("ns", "h")
        world.set(key, "Requeued", requeued, "Preempted", "")
        world.set(key, "QuotaReserved", False, "PendingEvaluation", "")
        world.set(key, "Admitted", False, "NoReservation", "")
        del world.workload(key)["status"]["admission"]

    def test_next_in_line_is_not_taken_for_the_head(self):
        world = self.world()
        plan = world.cycle()
        assert [step.key.name for step in plan.preemptions] == ["h"]
        for _ in range(3):
            world.cycle()
            assert not reserved(world, "l")
        self.release(world)
        world.observe()
        assert world.active("q")[0] == "h"
        for _ in range(3):
            world.cycle()
        assert reserved(world, "b")
        assert not reserved(world, "h")
        assert not reserved(world, "l")

    def test_head_comes_first_when_the_room_is_back(self):
        world = self.world()
        world.cycle()
        self.release(world)
        world.observe()
        world.cycle()
        world.finish("ns/b")
        world.cycle()
        assert reserved(world, "h")
        assert not reserved(world, "l")


class TestB79ManyHopelessEqualsCostNothing:
    COUNT = 2000

    def world(self):
        hopeless = [workload(f"h{i:04}", cpu=100) for i in range(self.COUNT)]
        small = workload("s", cpu=1, created="2026-01-01T11:00:00Z")
        return EngineWorld([*single_queue(cpu=50), *hopeless, small])

    def test_one_failure_stands_for_all(self):
        world = self.world()
        attempts = 0
        while not reserved(world, "s"):
            world.cycle()
            attempts += len(world.plan.attempts)
        assert attempts == 2

    def test_each_wake_up_costs_one_attempt_again(self):
        world = self.world()
        while world.active("q"):
            world.cycle()
        world.put(cluster_queue("q", cpu=51))
        plan = world.cycle()
        assert len(plan.attempts) == 1
        assert world.active("q") == []

    def test_limit_range_edit_changes_no_finished_one(self):
        done = admitted("done")
        world = EngineWorld([*single_queue(), done])
        world.finish("ns/done")
        world.changed.clear()
        world.put(limit_range(default={"cpu": "1"}))
        world.cycle()
        assert not world.changed
        assert Key("ns", "done") not in world.state.rows


def test_pods_that_ask_for_ports_or_spread_are_admitted_like_others():
    """Found beside B60: what a template holds beside resources must not keep it out."""
    busy = container({"cpu": 1}, ports=[{"containerPort": 80}])
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    spec = {"containers": [busy], "topologySpreadConstraints": spread}
    world = EngineWorld([*single_queue(), workload("w", pod_set(spec=spec))])
    world.cycle()
    assert reserved(world, "w")


def test_borrowing_limit_is_kept_while_a_lender_is_away():
    """Found beside B54: a limit counts against what the queue itself holds, whoever lends."""
    queues = [cluster_queue("q", cohort="c", cpu=quota(4, borrowing=1)), cluster_queue("b", cohort="c")]
    world = EngineWorld([namespace(), flavor(), *queues, local_queue(), admitted("a", cpu=4), workload("w", cpu=2)])
    world.cycle()
    assert not reserved(world, "w")

"""Faults in the books of a ClusterQueue: B45, B47, B48, B49, B50, B54."""

import itertools

import msgspec
import pytest

from tests.builders import (
    admitted,
    cluster_queue,
    flavor,
    local_queue,
    namespace,
    pod_set,
    quota,
    single_queue,
    workload,
)
from tests.engine_world import EngineWorld
from worker_agent.api import quantity
from worker_agent.api.meta import Key
from worker_agent.app.view_metrics import Shown, ViewCollector
from worker_agent.validation import ValidationPolicy, registry

LATER = "2026-01-01T11:00:00Z"


def holds(world, key):
    return world.state.rows[Key("ns", key)].reserved_in != ""


def cpu_in_use(world, queue="q"):
    return world.state.cluster_queues[queue].node.usage.get(("default", "cpu"), 0) // 1000


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_b45_restart_under_a_lowered_quota_keeps_running_work_on_the_books(order):
    listed = [admitted("a", cpu=6), admitted("b", cpu=4), workload("c", cpu=1, created=LATER)]
    world = EngineWorld([*single_queue(cpu=5), *(listed[index] for index in order)])
    world.cycle()
    assert (cpu_in_use(world), holds(world, "c")) == (10, False)
    assert holds(world, "a")
    assert holds(world, "b")
    world.finish("ns/a")
    world.cycle()
    assert (cpu_in_use(world), holds(world, "c")) == (5, True)


def test_b45_restart_before_the_queue_is_known_keeps_running_work_on_the_books():
    queue = cluster_queue("q", cpu=5)
    world = EngineWorld([namespace(), flavor(), local_queue(), admitted("a", cpu=6), workload("c", cpu=1)])
    world.put(queue)
    world.cycle()
    assert (cpu_in_use(world), holds(world, "c")) == (6, False)


ABSURD = {
    "negative": pod_set(requests={"cpu": "-3"}),
    "whole int64": pod_set(requests={"cpu": "9223372036854775807"}),
    "many pods": pod_set(count=2147483647, requests={"cpu": "9e9"}),
    "memory above int64": pod_set(requests={"cpu": 1, "memory": "99999999999999999999999"}),
    "many pods with fewer allowed": pod_set(count=2147483647, min_count=2, requests={"cpu": "9e15"}),
}


class TestB47AbsurdRequestsAreNoCredit:
    def world(self, *pod_sets):
        queue = cluster_queue("q", {"default": {"cpu": 4, "memory": "8Gi"}})
        running = admitted("n", cpu=3)
        odd = workload("odd", *pod_sets)
        world = EngineWorld([namespace(), flavor(), queue, local_queue(), running, odd, workload("x", cpu=2)])
        for _ in range(3):
            world.cycle()
        return world

    @pytest.mark.parametrize("pods", ABSURD.values(), ids=ABSURD)
    def test_nothing_goes_past_the_quota(self, pods):
        world = self.world(pods)
        assert (cpu_in_use(world), holds(world, "x")) == (3, False)

    def test_sum_of_two_pod_sets_does_not_wrap(self):
        huge = "9223372036854775"
        world = self.world(pod_set("a", requests={"cpu": huge}), pod_set("b", requests={"cpu": huge}))
        assert (cpu_in_use(world), holds(world, "odd")) == (3, False)

    @pytest.mark.parametrize("pods", ABSURD.values(), ids=ABSURD)
    def test_what_is_written_reads_back_as_the_same_amount(self, pods):
        status = self.world(pods).workload(Key("ns", "odd"))["status"]
        told = [entry["resources"] for entry in status.get("resourceRequests") or ()]
        told += [p["resourceUsage"] for p in (status.get("admission") or {}).get("podSetAssignments") or ()]
        assert told
        for resource, amount in (item for entry in told for item in entry.items()):
            assert 0 <= quantity.value(resource, amount) < 2**63
            assert quantity.canonical(amount) == amount

    def test_negative_request_is_refused_at_the_door(self):
        validator = registry["kueue.x-k8s.io", "Workload"]
        [error] = validator.validate(workload("odd", ABSURD["negative"]), None, ValidationPolicy())
        assert "must be greater than or equal to 0" in str(error)


class TestB48QuotaThatStandsForUnlimited:
    def queue(self, name):
        return cluster_queue(name, {"default": {"cpu": "1E", "memory": "100Gi"}}, cohort="c")

    def world(self, count=1):
        queues = [self.queue(f"q{i}") for i in range(count)]
        wanted = workload("j", pod_set(requests={"cpu": 1, "memory": "1Gi"}))
        return EngineWorld([namespace(), flavor(), *queues, local_queue("lq", "q0"), wanted])

    @pytest.mark.parametrize("count", [1, 20])
    def test_job_is_admitted_and_its_end_gives_everything_back(self, count):
        world = self.world(count)
        world.cycle()
        assert holds(world, "j")
        world.finish("ns/j")
        assert {fr: n for node in world.state.hierarchy.cohorts.values() for fr, n in node.usage.items() if n} == {}

    def test_absurd_work_in_it_leaves_no_credit_behind(self):
        """Sums beyond int64 are given back as they were taken."""
        odd = [workload(name, pod_set(requests={"cpu": "9223372036854775807"})) for name in ("a", "b", "c")]
        world = EngineWorld([namespace(), flavor(), self.queue("q0"), self.queue("q1"), local_queue("lq", "q0"), *odd])
        for _ in odd:
            world.cycle()
        tree = [*world.state.hierarchy.queues.values(), *world.state.hierarchy.cohorts.values()]
        world.put(self.queue("q1"))
        for name in ("a", "b", "c"):
            assert holds(world, name)
            world.finish(f"ns/{name}")
            assert all(amount >= 0 for node in tree for amount in node.usage.values())
        assert [node.usage for node in tree] == [{}] * 3

    def test_metric_is_large_and_not_zero(self):
        view = self.world().state.publish(self.world().now)
        families = ViewCollector(lambda: view, lambda: "leader", Shown(resources=True)).collect()
        [nominal] = [
            sample.value
            for family in families
            for sample in family.samples
            if family.name == "kueue_cluster_queue_nominal_quota" and sample.labels["resource"] == "cpu"
        ]
        assert nominal > 1e15


def test_b49_pods_wanted_again_are_counted_again():
    running = admitted("s", count=3)
    world = EngineWorld([*single_queue(cpu=3), running])
    running["status"]["reclaimablePods"] = [{"name": "main", "count": 2}]
    world.put(running)
    assert cpu_in_use(world) == 1
    running["status"]["reclaimablePods"] = []
    world.put(running)
    assert cpu_in_use(world) == 3
    world.put(workload("x", cpu=2))
    world.cycle()
    assert not holds(world, "x")


class TestB50NewcomerMustFitInEveryResource:
    def world(self, cpu, memory):
        queue = cluster_queue("q", {"default": {"cpu": 10, "memory": "10Gi"}})
        assignment = {
            "name": "main",
            "count": 1,
            "flavors": {"cpu": "default", "memory": "default"},
            "resourceUsage": {"cpu": "9", "memory": "2Gi"},
        }
        running = admitted("a", cpu=9)
        running["status"]["admission"]["podSetAssignments"] = [assignment]
        wanted = workload("w", pod_set(requests={"cpu": cpu, "memory": memory}))
        world = EngineWorld([namespace(), flavor(), queue, local_queue(), running, wanted])
        world.cycle()
        return world

    @pytest.mark.parametrize(("cpu", "memory", "short"), [(10, "1Gi", "cpu"), (1, "9Gi", "memory")])
    def test_reason_names_the_resource_that_is_short(self, cpu, memory, short):
        world = self.world(cpu, memory)
        assert not holds(world, "w")
        assert f"insufficient unused quota for {short} in flavor default" in world.message("ns/w")

    def test_what_fits_beside_is_admitted_at_once(self):
        assert holds(self.world(1, "8Gi"), "w")


class TestB54DeletedQueueLendsNothing:
    def world(self, **more):
        queues = [cluster_queue("q", cohort="c"), cluster_queue("b", cohort="c")]
        return EngineWorld([namespace(), flavor(), *queues, local_queue(), admitted("a", cpu=4), *more.values()])

    def test_nobody_borrows_from_it_until_it_is_back(self):
        world = self.world()
        world.state.delete_cluster_queue("b")
        world.put(workload("w", cpu=2))
        world.cycle()
        assert not holds(world, "w")
        world.put(cluster_queue("b", cohort="c"))
        world.cycle()
        assert holds(world, "w")

    def test_borrowers_stay(self):
        world = self.world(borrower=admitted("more", cpu=2))
        world.state.delete_cluster_queue("b")
        assert cpu_in_use(world) == 6
        assert not world.cycle().preemptions

    def test_queue_that_leaves_its_cohort_lends_nothing_either(self):
        world = self.world()
        world.put(cluster_queue("b"))
        world.put(workload("w", cpu=2))
        world.cycle()
        assert not holds(world, "w")

    def test_quota_of_a_deleted_cohort_is_gone_and_comes_back(self):
        own = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Cohort",
            "metadata": {"name": "c"},
            "spec": {
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [{"name": "default", "resources": [{"name": "cpu", **quota(2)}]}],
                    }
                ]
            },
        }
        objects = [namespace(), flavor(), cluster_queue("q", cohort="c"), local_queue(), own, admitted("a", cpu=4)]
        world = EngineWorld(objects)
        world.state.delete_cohort("c")
        world.put(workload("w", cpu=2))
        world.cycle()
        assert not holds(world, "w")
        world.put(msgspec.json.decode(msgspec.json.encode(own)))
        world.cycle()
        assert holds(world, "w")

"""Slices of elastic jobs that take each other's place, and variants of one workload on several flavors."""

from dataclasses import replace

import pytest

from tests.builders import admitted, cluster_queue, flavor, local_queue, namespace, workload
from tests.engine_world import EngineWorld
from tests.unit.engine_preemption.cases import queue, running, world
from worker_agent.api.meta import Key
from worker_agent.engine.plan import Evict
from worker_agent.engine.policy import DEFAULT


def bigger(cpu, replaces="ns/old"):
    annotations = {"kueue.x-k8s.io/workload-slice-replacement-for": replaces}
    return workload("new", queue="q", cpu=cpu, metadata={"annotations": annotations})


@pytest.mark.parametrize(("cpu", "fits"), [(5, True), (6, False)])
def test_a_slice_needs_room_only_for_what_it_adds(cpu, fits):
    made = world(queue("q", 5, ""), running("old", "q", 4))
    made.put(bigger(cpu))
    made.decide()
    assert [step.key.name for step in made.plan.admissions] == (["new"] if fits else [])


def test_the_old_slice_ends_with_the_admission_of_the_new_one():
    made = world(queue("q", 5, ""), running("old", "q", 4))
    made.put(bigger(5))
    made.decide()
    (step,) = made.plan.admissions
    assert step.replaces == Key("ns", "old")
    assert step.replaced_message.endswith("due to workload slice aggregation")
    assert made.plan.preemptions == ()


def test_a_slice_stays_on_its_flavor():
    quotas = {"f0": {"cpu": 9}, "f1": {"cpu": 9}}
    objects = [namespace(), flavor("f0"), flavor("f1"), cluster_queue("q", quotas), local_queue("q", "q")]
    made = EngineWorld([*objects, admitted("old", cluster_queue="q", queue="q", flavor="f1")])
    made.put(bigger(2))
    made.decide()
    (step,) = made.plan.admissions
    assert step.admission["podSetAssignments"][0]["flavors"] == {"cpu": "f1"}


def test_a_slice_whose_predecessor_is_gone_is_an_ordinary_workload():
    made = world(queue("q", 5, ""))
    made.put(bigger(5))
    made.decide()
    assert made.plan.admissions[0].replaces is None


def variants(running_on, tries, last_acceptable=""):
    """One variant runs on ``running_on``, another one tries ``tries``; f0 is better than f1, f1 than f2."""
    quotas = {name: {"cpu": 4} for name in ("f0", "f1", "f2")}
    migration = {"mode": "TryPreferredFlavors", "constraints": {"lastAcceptableFlavorName": last_acceptable}}
    policy = {"migration": migration if last_acceptable else {"mode": "TryPreferredFlavors"}}
    queues = cluster_queue("q", quotas, concurrentAdmissionPolicy=policy), local_queue("q", "q")
    made = EngineWorld([namespace(), *map(flavor, quotas), *queues], replace(DEFAULT, concurrent_admission=True))
    held = admitted("held", cluster_queue="q", queue="q", flavor=running_on, metadata=_variant(running_on))
    made.put(held, workload("tries", queue="q", metadata=_variant(tries)))
    made.decide()
    return made


def _variant(name):
    owner = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "name": "parent",
        "uid": "p",
        "controller": True,
    }
    return {
        "annotations": {"kueue.x-k8s.io/workload-allowed-resource-flavors": name},
        "ownerReferences": [owner],
    }


def test_a_worse_variant_stands_back():
    made = variants("f0", "f1")
    assert made.plan.admissions == ()
    assert made.message("ns/tries") == "A more favorable variant is already admitted"


def test_a_better_variant_has_the_worse_one_evicted_first():
    made = variants("f1", "f0")
    (step,) = (step for step in made.plan if isinstance(step, Evict))
    assert (step.key.name, step.reason) == ("held", "FlavorMigration")
    assert made.message("ns/tries") == ". Pending the migration of 1 workload(s)"


def test_no_migration_to_a_flavor_that_is_not_wanted():
    made = variants("f2", "f1", last_acceptable="f0")
    assert not [step for step in made.plan if isinstance(step, Evict)]
    assert made.message("ns/tries") == "Target flavor is below LastAcceptableFlavorName"

"""What device claims are charged as, and what is said of those that cannot be served."""

from datetime import UTC, datetime

import msgspec
import pytest

from worker_agent.engine import story_objects
from worker_agent.engine.policy import resolve
from worker_agent.engine.state import ClusterState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GPU = {"name": "gpus", "deviceClassNames": ["gpu.example.com"]}
DRIVER = "gpu.example.com"


def state(*mappings, gates=None):
    return ClusterState(resolve(gates or {}, {"resources": {"deviceClassMappings": list(mappings) or [GPU]}}))


def put(into, kind, name, spec, namespace=""):
    metadata = {"name": name, "namespace": namespace}
    story_objects.put(into, {"kind": kind, "metadata": metadata, "spec": spec}, NOW)


def template(into, *requests, name="t"):
    put(into, "ResourceClaimTemplate", name, {"spec": {"devices": {"requests": list(requests)}}}, "ns")


def exactly(count=1, device_class="gpu.example.com", **more):
    return {"name": "r", "exactly": {"deviceClassName": device_class, "count": count, **more}}


def published(into, *devices, name="s", slices=1, generation=1):
    pool = {"name": "p", "generation": generation, "resourceSliceCount": slices}
    put(into, "ResourceSlice", name, {"driver": DRIVER, "pool": pool, "devices": list(devices)})


def device(name="d", counters=None, capacity=None, **attributes):
    found = {"name": name, "attributes": attributes}
    if counters:
        found["consumesCounters"] = [{"counters": {n: {"value": v} for n, v in counters.items()}}]
    if capacity:
        found["capacity"] = capacity
    return found


def submit(into, claims=("t",), requests=None, count=1, name="w", **pod):
    container = {"name": "c", "resources": {"requests": requests or {}}}
    references = [{"name": f"c{i}", "resourceClaimTemplateName": claim} for i, claim in enumerate(claims)]
    spec = {"containers": [container], **({"resourceClaims": references} if references else {}), **pod}
    pod_set = {"name": "main", "count": count, "template": {"spec": spec}}
    workload = {"kind": "Workload", "metadata": {"name": name, "namespace": "ns"}, "spec": {"podSets": [pod_set]}}
    story_objects.put(into, workload, NOW)
    return next(row for row in into.rows.values() if row.key.name == name)


def asked(row):
    assert row.refusal is None, row.refusal
    return row.pod_sets[0].requests


def test_devices_of_a_mapped_class_are_counted_for_every_pod():
    world = state()
    template(world, exactly(2))
    assert asked(submit(world, count=3, requests={"cpu": "1"})) == {"cpu": 3000, "gpus": 6}


def test_several_requests_and_claims_add_up():
    world = state()
    template(world, exactly(2), exactly(1))
    assert asked(submit(world, claims=("t", "t"))) == {"gpus": 6}


def test_request_for_administrators_costs_nothing():
    world = state()
    template(world, exactly(2, adminAccess=True), exactly(1))
    assert asked(submit(world)) == {"gpus": 1}


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (exactly(allocationMode="All"), 'exactly.allocationMode: Invalid value: "All": ResourceClaimTemplate t: '),
        ({"firstAvailable": []}, "FirstAvailable device selection is not supported"),
        ({}, "Exactly must be set if FirstAvailable is nil"),
    ],
    ids=["all devices", "first available", "neither"],
)
def test_what_cannot_be_counted_is_refused(request_, told):
    world = state()
    template(world, request_)
    row = submit(world)
    assert told in row.refusal.message
    assert row.refusal.message.startswith("spec.podSets[0].template.spec.resourceClaims[0].devices.requests[0]")
    assert not row.may_queue
    assert not row.refusal.retry


def test_missing_template_is_refused_until_it_appears():
    world = state()
    row = submit(world)
    assert row.refusal.retry
    template(world, exactly(1))
    assert asked(world.rows[row.key]) == {"gpus": 1}


def test_direct_claim_is_refused():
    world = state()
    row = submit(world, claims=(), resourceClaims=[{"name": "c", "resourceClaimName": "mine"}])
    assert row.refusal.requeued_message == "DRA resource claims not supported"


def test_gate_off_refuses_or_ignores():
    off = {"KueueDRAIntegration": False, "KueueDRAIntegrationExtendedResource": False}
    off["KueueDRAIntegrationPartitionableDevices"] = False
    refusing = state(gates=off)
    assert "feature gate is not enabled" in submit(refusing).refusal.message
    ignoring = state(gates={**off, "KueueDRARejectWorkloadsWhenDRADisabled": False})
    assert asked(submit(ignoring, requests={"cpu": "1"})) == {"cpu": 1000}


def test_reservation_is_charged_as_admitted_whatever_the_claims_say():
    world = state()
    template(world, exactly(2))
    row = submit(world)
    workload = msgspec.json.decode(msgspec.json.encode(row.workload))
    usage = [{"name": "main", "count": 1, "flavors": {"gpus": "f"}, "resourceUsage": {"gpus": "5"}}]
    told = {"type": "QuotaReserved", "status": "True", "reason": "r", "message": ""}
    workload["status"] = {"admission": {"clusterQueue": "q", "podSetAssignments": usage}, "conditions": [told]}
    story_objects.put(world, {"kind": "Workload", **workload}, NOW)
    assert world.rows[row.key].usage == {("f", "gpus"): 5}


# -- selectors --------------------------------------------------------------------------------------------------------

BIG = {"cel": {"expression": f'device.attributes["{DRIVER}"].model == "big"'}}


def test_selector_needs_enough_devices():
    world = state()
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(2, selectors=[BIG]))
    published(world, device("a", model={"string": "big"}), device("b", model={"string": "small"}))
    row = submit(world)
    assert "1 device(s) match in the cluster but 2 requested" in row.refusal.message
    assert row.refusal.retry
    published(world, device("c", model={"string": "big"}), name="s2")
    assert asked(world.rows[row.key]) == {"gpus": 2}


def test_two_requests_do_not_share_a_device():
    world = state()
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(1, selectors=[BIG]), exactly(1, selectors=[BIG]))
    published(world, device("a", model={"string": "big"}))
    assert "0 device(s) match" in submit(world).refusal.message


def test_selectors_of_the_class_count_too():
    world = state()
    put(world, "DeviceClass", "gpu.example.com", {"selectors": [{"cel": {"expression": 'device.driver == "other"'}}]})
    template(world, exactly(1, selectors=[BIG]))
    published(world, device("a", model={"string": "big"}))
    assert "0 device(s) match" in submit(world).refusal.message


def test_expression_that_does_not_compile_is_told_with_its_place():
    world = state()
    template(world, exactly(1, selectors=[{"cel": {"expression": "device.driver =="}}]))
    message = submit(world).refusal.message
    assert "devices.requests[0].exactly.selectors: Invalid value: null" in message
    assert "CEL compilation failed" in message


@pytest.mark.parametrize(
    "expression",
    [
        f'device.capacity["{DRIVER}"].memory.compareTo(quantity("10Gi")) >= 0',
        f'device.attributes["{DRIVER}"].version.isGreaterThan(semver("1.9.0"))',
        f'device.attributes["{DRIVER}"].index in [3, 4]',
        '!has(device.attributes["nobody.example.com"].model)',
        'device.driver.startsWith("gpu.")',
    ],
)
def test_expressions_on_devices(expression):
    world = state()
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(1, selectors=[{"cel": {"expression": expression}}]))
    attributes = {"version": {"version": "1.10.0"}, "index": {"int": 3}}
    published(world, device("a", capacity={"memory": {"value": "16Gi"}}, **attributes))
    assert asked(submit(world)) == {"gpus": 1}


# -- counters and capacities ------------------------------------------------------------------------------------------


def measured(kind, name):
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    source = {kind: {"name": name, "driver": DRIVER, "deviceSelector": selector}}
    return {"name": "gpu.memory", "deviceClassNames": ["gpu.example.com"], "sources": [source]}


def test_partitions_are_charged_what_the_biggest_that_matches_takes():
    world = state(measured("counter", "memory"))
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(2))
    published(world, device("a", {"memory": "5Gi"}), device("b", {"memory": "10Gi"}))
    assert asked(submit(world)) == {"gpu.memory": 20 * 2**30}


def test_pool_that_is_not_complete_does_not_count():
    world = state(measured("counter", "memory"))
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(1))
    published(world, device("a", {"memory": "5Gi"}), slices=2)
    assert "insufficient matching devices for counter driver" in submit(world).refusal.message


CAPACITY = {"KueueDRAIntegrationConsumableCapacity": True}


@pytest.mark.parametrize(
    ("offer", "wanted", "charged"),
    [
        ({"value": "40Gi"}, None, 40 * 2**30),
        ({"value": "40Gi"}, "7Gi", 7 * 2**30),
        ({"value": "40Gi", "requestPolicy": {"default": "2Gi"}}, None, 2 * 2**30),
        ({"value": "40Gi", "requestPolicy": {"validValues": ["5Gi", "10Gi"]}}, "7Gi", 10 * 2**30),
        ({"value": "40Gi", "requestPolicy": {"validRange": {"min": "2Gi", "step": "4Gi"}}}, "7Gi", 10 * 2**30),
    ],
    ids=["all of it", "as asked", "default", "next valid value", "next step"],
)
def test_shared_devices_are_charged_what_they_hand_out(offer, wanted, charged):
    world = state(measured("capacity", "memory"), gates=CAPACITY)
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(1, **({"capacity": {"requests": {"memory": wanted}}} if wanted else {})))
    published(world, device("a", capacity={"memory": offer}))
    assert asked(submit(world)) == {"gpu.memory": charged}


def test_request_that_no_policy_allows_is_refused_for_good():
    world = state(measured("capacity", "memory"), gates=CAPACITY)
    put(world, "DeviceClass", "gpu.example.com", {})
    template(world, exactly(1, capacity={"requests": {"memory": "50Gi"}}))
    published(world, device("a", capacity={"memory": {"value": "40Gi", "requestPolicy": {"validValues": ["5Gi"]}}}))
    refusal = submit(world).refusal
    assert 'cannot be satisfied by any matched device\'s RequestPolicy for dimension "memory"' in refusal.message
    assert not refusal.retry


# -- extended resources -----------------------------------------------------------------------------------------------


def test_extended_resource_counts_as_the_quota_resource_of_its_class():
    world = state()
    put(world, "DeviceClass", "gpu.example.com", {"extendedResourceName": "example.com/gpu"})
    row = submit(world, claims=(), requests={"example.com/gpu": "2", "cpu": "1"}, count=2)
    assert asked(row) == {"cpu": 2000, "gpus": 4}


def test_extended_resource_of_an_unmapped_class_keeps_its_name():
    world = state()
    put(world, "DeviceClass", "other", {"extendedResourceName": "example.com/gpu"})
    assert asked(submit(world, claims=(), requests={"example.com/gpu": "2"})) == {"example.com/gpu": 2}


def test_fraction_of_a_device_is_refused():
    world = state()
    put(world, "DeviceClass", "gpu.example.com", {"extendedResourceName": "example.com/gpu"})
    message = submit(world, claims=(), requests={"example.com/gpu": "1500m"}).refusal.message
    told = 'Invalid value: "1500m": extended resource quantity must be an integer'
    assert message.endswith(f".containers[0].resources.requests.example.com/gpu: {told}")


def test_resource_nobody_serves_as_a_device_is_left_alone():
    world = state()
    assert asked(submit(world, claims=(), requests={"nvidia.com/gpu": "1"})) == {"nvidia.com/gpu": 1}


def test_class_that_comes_later_changes_what_waits():
    world = state()
    row = submit(world, claims=(), requests={"example.com/gpu": "1"})
    put(world, "DeviceClass", "gpu.example.com", {"extendedResourceName": "example.com/gpu"})
    assert asked(world.rows[row.key]) == {"gpus": 1}

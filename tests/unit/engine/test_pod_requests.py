"""Effective requests of pods (spec/engine 3.1)."""

from typing import Any

import msgspec
import pytest

from tests.builders import container, pod_set, workload
from tests.conformance.engine_objects import decode
from worker_agent.api.document import Document
from worker_agent.api.pod import LimitRange, RuntimeClass
from worker_agent.api.workload import Workload
from worker_agent.engine import pod_requests, workload_info
from worker_agent.engine.limit_ranges import LimitSummary
from worker_agent.engine.pod_shape import ShapeSource
from worker_agent.engine.policy import DEFAULT, Policy

SIDECAR = container({"cpu": "0.5"}, restartPolicy="Always")
INIT = container({"cpu": "2"})


def totals(*pod_sets: Document, source: ShapeSource | None = None, **fields: Any) -> list[dict[str, int]]:
    row = workload_info.build(decode(workload("w", *pod_sets, **fields), Workload), source or ShapeSource(DEFAULT))
    return [pod_set.requests for pod_set in row.pod_sets]


@pytest.mark.parametrize(
    ("init_containers", "expected"),
    [([SIDECAR, INIT], 7800), ([INIT, SIDECAR], 6300)],
    ids=["sidecar before the init container", "sidecar after the init container"],
)
def test_a_sidecar_counts_beside_the_init_containers_after_it(init_containers: list[Document], expected: int) -> None:
    spec = {"initContainers": init_containers, "overhead": {"cpu": "100m"}}
    assert totals(pod_set(count=3, requests={"cpu": 1}, spec=spec)) == [{"cpu": expected}]


def test_each_pod_is_rounded_up_before_it_is_multiplied() -> None:
    assert totals(pod_set(count=1000, requests={"memory": "1.5", "cpu": "0.0003"})) == [{"memory": 2000, "cpu": 1000}]


def test_a_limit_without_request_is_the_request() -> None:
    limited = container({"cpu": 1}, {"cpu": 2, "memory": "1Gi"})
    assert totals(pod_set(spec={"containers": [limited]})) == [{"cpu": 1000, "memory": 2**30}]


def test_pod_level_requests_override_cpu_and_memory() -> None:
    spec = {"resources": {"requests": {"cpu": "5"}}}
    assert totals(pod_set(requests={"cpu": 1, "example.com/gpu": 2}, spec=spec)) == [
        {"cpu": 5000, "example.com/gpu": 2}
    ]


def test_an_empty_overhead_is_taken_from_the_runtime_class() -> None:
    kind = decode({"metadata": {"name": "kata"}, "overhead": {"podFixed": {"cpu": "250m"}}}, RuntimeClass)
    assert kind.overhead is not None
    source = ShapeSource(DEFAULT, overheads={"kata": kind.overhead.pod_fixed or {}})
    assert totals(pod_set(spec={"runtimeClassName": "kata"}), source=source) == [{"cpu": 1250}]


def test_limit_ranges_give_default_requests_and_limits() -> None:
    limits = {"type": "Container", "default": {"memory": "2Gi"}, "defaultRequest": {"cpu": "500m"}}
    limit_range = decode({"metadata": {"name": "l"}, "spec": {"limits": [limits]}}, LimitRange)
    source = ShapeSource(DEFAULT, limits={"ns": LimitSummary([limit_range])})
    assert totals(pod_set(requests={}), source=source) == [{"cpu": 500, "memory": 2 * 2**30}]


def test_excluded_prefixes_are_dropped_case_sensitively() -> None:
    source = ShapeSource(Policy(exclude_resource_prefixes=("example.com/",)))
    assert totals(pod_set(requests={"example.com/a": 1, "Example.com/b": 2}), source=source) == [{"Example.com/b": 2}]


def test_reclaimable_pods_are_not_counted() -> None:
    status = {"reclaimablePods": [{"name": "main", "count": 2}]}
    assert totals(count=3, cpu=1, status=status) == [{"cpu": 1000}]


def test_a_request_beyond_int64_is_clamped() -> None:
    assert pod_requests.rounded({"memory": 10**40}) == {"memory": 2**63 - 1}


def test_equal_templates_share_one_shape() -> None:
    source = ShapeSource(DEFAULT)
    raw = msgspec.Raw(b'{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}')
    labelled = msgspec.Raw(b'{"metadata":{"labels":{"a":"b"}},' + bytes(raw)[1:])
    assert source.shape(raw, "ns") is source.shape(labelled, "ns")

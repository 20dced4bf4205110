"""Manifests that are taken although something they name is not there: their status says so, and nothing is admitted."""

from typing import Any

import msgspec
import pytest

from hub.engine.admission_check import BadReference, resolve
from tests.unit.validation.front_door import refusals
from tests.unit.validation.manifests import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    Document,
    changed,
    condition,
)
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState

FLAVOR = changed(RESOURCE_FLAVOR, metadata__name="default", spec={})
CHECK = changed(ADMISSION_CHECK, metadata__name="c")
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def activity(*documents: Document) -> tuple[str, str]:
    """Reason and message of the Active condition of the ClusterQueue among the documents."""
    state = ClusterState(DEFAULT)
    for document in documents:
        assert refusals({**document, "status": {}}) == []
        match document["kind"]:
            case "Cohort":
                state.put_cohort(msgspec.convert(document, Cohort))
            case "ResourceFlavor":
                state.put_resource_flavor(msgspec.convert(document, ResourceFlavor))
            case "AdmissionCheck":
                state.put_admission_check(msgspec.convert(document, AdmissionCheck))
            case "ClusterQueue":
                state.put_cluster_queue(msgspec.convert(document, ClusterQueue))
    found = state.activity("it")
    return found.reason, found.message


def with_checks(*checks: dict[str, Any]) -> Document:
    return changed(CLUSTER_QUEUE, spec__admissionChecksStrategy={"admissionChecks": list(checks)})


def active(name: str, controller: str) -> Document:
    check = changed(ADMISSION_CHECK, metadata__name=name, spec__controllerName=controller)
    return {**check, "status": {"conditions": [condition("Active")]}}


@pytest.mark.parametrize(
    ("documents", "reason", "told"),
    [
        ([CLUSTER_QUEUE], "FlavorNotFound", "references missing ResourceFlavor(s): default"),
        ([FLAVOR, with_checks({"name": "c"})], "AdmissionCheckNotFound", "references missing AdmissionCheck(s): c"),
        (
            [FLAVOR, CHECK, with_checks({"name": "c"})],
            "AdmissionCheckInactive",
            "references inactive AdmissionCheck(s): c",
        ),
        (
            [FLAVOR, active("a", MULTIKUEUE), active("b", MULTIKUEUE), with_checks({"name": "a"}, {"name": "b"})],
            "MultipleMultiKueueAdmissionChecks",
            "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: a,b",
        ),
        (
            [changed(RESOURCE_FLAVOR, metadata__name="default"), CLUSTER_QUEUE],
            "TopologyNotFound",
            'there is no Topology "net" for TAS flavor "default"',
        ),
        ([FLAVOR, changed(CLUSTER_QUEUE, spec__stopPolicy="Hold")], "Stopped", "is stopped"),
    ],
)
def test_cluster_queue_says_what_is_missing(documents: list[Document], reason: str, told: str) -> None:
    assert activity(*documents) == (reason, f"Can't admit new workloads: {told}.")


def test_a_cohort_cycle_is_taken_and_stops_its_queues() -> None:
    upper = changed(COHORT, metadata__name="all", spec={"parentName": "root"})
    lower = changed(COHORT, metadata__name="root", spec={"parentName": "all"})
    state = ClusterState(DEFAULT)
    for document in (upper, lower):
        assert refusals(document) == []
        state.put_cohort(msgspec.convert(document, Cohort))
    state.put_resource_flavor(msgspec.convert(FLAVOR, ResourceFlavor))
    state.put_cluster_queue(msgspec.convert(CLUSTER_QUEUE, ClusterQueue))
    assert state.cluster_queues["it"].node.cyclic


def parameters(**found: str) -> dict[str, Any]:
    return {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "config", **found}


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (None, "missing parameters reference"),
        (
            parameters(apiGroup="example.com"),
            'wrong group "example.com", expecting "kueue.x-k8s.io": bad parameters reference',
        ),
        (parameters(kind="Config"), 'wrong kind "Config", expecting "MultiKueueConfig": bad parameters reference'),
        (parameters(), 'multikueueconfigs.kueue.x-k8s.io "config" not found'),
    ],
)
def test_check_of_a_federation_says_what_its_reference_lacks(reference: dict[str, Any] | None, told: str) -> None:
    document = changed(ADMISSION_CHECK, spec__controllerName=MULTIKUEUE)
    if reference is not None:
        document["spec"]["parameters"] = reference
    assert refusals(document) == []
    with pytest.raises(BadReference) as refusal:
        resolve(msgspec.convert(document, AdmissionCheck), {})
    assert str(refusal.value) == told


def test_a_local_queue_may_name_a_queue_that_comes_later() -> None:
    assert refusals(LOCAL_QUEUE) == []

"""What a user is told for a broken ClusterQueue."""

from typing import Any

import pytest

from tests.unit.validation.manifests import ABSENT, CLUSTER_QUEUE, changed, flavor, group
from tests.unit.validation.messages import (
    LABEL_KEY,
    LABEL_VALUE,
    NOT_NEGATIVE,
    QUOTA,
    ROW,
    SMALL_WEIGHT,
    choices,
    mismatch,
    told,
)
from worker_agent.api.schema import DNS_SUBDOMAIN, QUANTITY


def selector(**expression: Any) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "team", **expression}]}


def many_flavors(groups: int, flavors: int) -> list[dict[str, Any]]:
    return [group(*[flavor(f"f{g}-{f}", **{f"r{g}": 1}) for f in range(flavors)]) for g in range(groups)]


WIDE = [group(*[flavor(f"f{f}", **{f"r{r}": 1 for r in range(64)}) for f in range(9)])]
EXPRESSION = "spec.namespaceSelector.matchExpressions[0]"
CHECKS = "spec.admissionChecksStrategy.admissionChecks"

CLUSTER_QUEUES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "wrong quantity": ({f"{ROW}__nominalQuota": "four"}, [mismatch(f"{QUOTA}.nominalQuota", "four", QUANTITY)]),
    "no quota": ({f"{ROW}__nominalQuota": ABSENT}, [f"{QUOTA}.nominalQuota: Required value"]),
    "negative quota": ({f"{ROW}__nominalQuota": "-1"}, [f"{QUOTA}.nominalQuota: {NOT_NEGATIVE}"]),
    "negative borrowing limit": ({f"{ROW}__borrowingLimit": "-1"}, [f"{QUOTA}.borrowingLimit: {NOT_NEGATIVE}"]),
    "negative lending limit": ({f"{ROW}__lendingLimit": "-1"}, [f"{QUOTA}.lendingLimit: {NOT_NEGATIVE}"]),
    "borrowing without cohort": (
        {f"{ROW}__borrowingLimit": "1", "spec__cohortName": ABSENT},
        ["spec: Invalid value: borrowingLimit must be nil when cohort is empty"],
    ),
    "lending without cohort": (
        {f"{ROW}__lendingLimit": "1", "spec__cohortName": ABSENT},
        [f'{QUOTA}.lendingLimit: Invalid value: "1": must be nil when cohort is empty'],
    ),
    "lending more than it has": (
        {f"{ROW}__lendingLimit": "5"},
        [f'{QUOTA}.lendingLimit: Invalid value: "5": must be less than or equal to the nominalQuota'],
    ),
    "row missing": (
        {"spec__resourceGroups__0__flavors__0__resources__1": ABSENT},
        [
            "spec.resourceGroups[0]: Invalid value: "
            "flavors must have the same number of resources as the coveredResources"
        ],
    ),
    "rows in another order": (
        {"spec__resourceGroups__0__coveredResources": ["memory", "cpu"]},
        [
            f'{QUOTA}.name: Invalid value: "cpu": must match the name in coveredResources',
            'spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "memory": '
            "must match the name in coveredResources",
        ],
    ),
    "resource name": (
        {"spec__resourceGroups": [group(flavor(**{"@cpu": 1}))]},
        [f'spec.resourceGroups[0].coveredResources[0]: Invalid value: "@cpu": {LABEL_KEY}'],
    ),
    "flavor twice in a group": (
        {"spec__resourceGroups": [group(flavor("a"), flavor("a"))]},
        ['spec.resourceGroups[0].flavors[1]: Duplicate value: {"name":"a"}'],
    ),
    "flavor in two groups": (
        {"spec__resourceGroups": [group(flavor("a", cpu=1)), group(flavor("a", gpu=1))]},
        ['spec.resourceGroups[1].flavors[0].name: Duplicate value: "a"'],
    ),
    "resource in two groups": (
        {"spec__resourceGroups": [group(flavor("a", cpu=1)), group(flavor("b", cpu=1))]},
        ['spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"'],
    ),
    "too many groups": (
        {"spec__resourceGroups": many_flavors(17, 1)},
        ["spec.resourceGroups: Too many: 17: must have at most 16 items"],
    ),
    "too many flavors in a group": (
        {"spec__resourceGroups": many_flavors(1, 65)},
        ["spec.resourceGroups[0].flavors: Too many: 65: must have at most 64 items"],
    ),
    "too many flavors in all": (
        {"spec__resourceGroups": many_flavors(5, 64)},
        [
            "spec.resourceGroups: Invalid value: 320: "
            "total number of flavors across all resourceGroups must be ≤ 256, got 320"
        ],
    ),
    "too many rows in a group": (
        {"spec__resourceGroups": WIDE},
        [
            "spec.resourceGroups[0]: Invalid value: 576: "
            "number of flavor-resource combinations in a resourceGroup must be ≤ 512, got 576"
        ],
    ),
    "no flavor": (
        {"spec__resourceGroups__0__flavors": []},
        [
            "spec.resourceGroups[0].flavors: Invalid value: 0: "
            "spec.resourceGroups[0].flavors in body should have at least 1 items"
        ],
    ),
    "queueing strategy": (
        {"spec__queueingStrategy": "FIFO"},
        [choices("spec.queueingStrategy", "FIFO", "StrictFIFO", "BestEffortFIFO")],
    ),
    "cohort name": ({"spec__cohortName": "All"}, [mismatch("spec.cohortName", "All", DNS_SUBDOMAIN)]),
    "stop policy": (
        {"spec__stopPolicy": "Drain"},
        [choices("spec.stopPolicy", "Drain", "None", "Hold", "HoldAndDrain")],
    ),
    "selector without values": (
        {"spec__namespaceSelector": selector(operator="In")},
        [f"{EXPRESSION}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
    ),
    "selector with values": (
        {"spec__namespaceSelector": selector(operator="Exists", values=["a"])},
        [f"{EXPRESSION}.values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
    ),
    "selector operator": (
        {"spec__namespaceSelector": selector(operator="Near")},
        [f'{EXPRESSION}.operator: Invalid value: "Near": not a valid selector operator'],
    ),
    "selector label": (
        {"spec__namespaceSelector": {"matchLabels": {"team": "a b"}}},
        [f'spec.namespaceSelector.matchLabels: Invalid value: "a b": {LABEL_VALUE}'],
    ),
    "preemption that contradicts itself": (
        {"spec__preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
        ["spec.preemption: Invalid value: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"],
    ),
    "preemption policy": (
        {"spec__preemption": {"reclaimWithinCohort": "Always"}},
        [choices("spec.preemption.reclaimWithinCohort", "Always", "Never", "LowerPriority", "Any")],
    ),
    "fungibility preference": (
        {"spec__flavorFungibility": {"preference": "BorrowingOverPreemption"}},
        [
            "spec.flavorFungibility: Invalid value: "
            "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
        ],
    ),
    "check on unknown flavor": (
        {"spec__admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["ghost"]}]}},
        [choices(f"{CHECKS}[0].onFlavors[0]", "ghost", "default")],
    ),
    "check twice": (
        {"spec__admissionChecksStrategy": {"admissionChecks": [{"name": "c"}, {"name": "c"}]}},
        [f'{CHECKS}[1]: Duplicate value: {{"name":"c"}}'],
    ),
    "negative weight": (
        {"spec__fairSharing": {"weight": "-1"}},
        [f"spec.fairSharing: {NOT_NEGATIVE}", f'spec.fairSharing: Invalid value: "-1": {SMALL_WEIGHT}'],
    ),
    "weight close to zero": (
        {"spec__fairSharing": {"weight": "1n"}},
        [f'spec.fairSharing: Invalid value: "1n": {SMALL_WEIGHT}'],
    ),
}


@pytest.mark.parametrize(("places", "lines"), CLUSTER_QUEUES.values(), ids=CLUSTER_QUEUES)
def test_cluster_queue(places: dict[str, Any], lines: list[str]) -> None:
    assert told(changed(CLUSTER_QUEUE, **places)) == lines

"""What a user is told for a broken manifest: definitions, CEL rules and webhooks.

ClusterQueues and Workloads have tables of their own: ``test_bad_cluster_queues``, ``test_bad_workloads``.
"""

from typing import Any

import pytest

from tests.unit.validation.front_door import refusals
from tests.unit.validation.manifests import (
    ABSENT,
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    DISPATCH_POLICY,
    LOCAL_QUEUE,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    PRIORITY_CLASS,
    PROVISIONING_CONFIG,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    changed,
)
from tests.unit.validation.messages import (
    EFFECTS,
    LABEL_KEY,
    LABEL_VALUE,
    NOT_NEGATIVE,
    QUOTA,
    ROW,
    choices,
    mismatch,
    told,
)
from worker_agent.api.schema import DNS_SUBDOMAIN, QUALIFIED_NAME

TAINT = {"key": "k", "effect": "NoSchedule"}
OTHERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "cohort: negative quota": (
        changed(COHORT, **{f"{ROW}__nominalQuota": "-1"}),
        [f"{QUOTA}.nominalQuota: {NOT_NEGATIVE}"],
    ),
    "cohort: borrowing without parent": (
        changed(COHORT, **{f"{ROW}__borrowingLimit": "1", "spec__parentName": ABSENT}),
        [f'{QUOTA}.borrowingLimit: Invalid value: "1": must be nil when parent is empty'],
    ),
    "cohort: lending without parent": (
        changed(COHORT, **{f"{ROW}__lendingLimit": "1", "spec__parentName": ABSENT}),
        [f'{QUOTA}.lendingLimit: Invalid value: "1": must be nil when parent is empty'],
    ),
    "cohort: parent name": (
        changed(COHORT, spec__parentName="Root_1"),
        [mismatch("spec.parentName", "Root_1", DNS_SUBDOMAIN)],
    ),
    "flavor: label": (
        changed(RESOURCE_FLAVOR, spec__nodeLabels={"@pool": "a"}),
        [f'spec.nodeLabels: Invalid value: "@pool": {LABEL_KEY}'],
    ),
    "flavor: too many labels": (
        changed(RESOURCE_FLAVOR, spec__nodeLabels={f"l{i}": "a" for i in range(9)}),
        ["spec.nodeLabels: Too many: 9: must have at most 8 items"],
    ),
    "flavor: taint effect": (
        changed(RESOURCE_FLAVOR, spec__nodeTaints=[{"key": "k", "effect": "Never"}]),
        [f"spec.nodeTaints: Invalid value: supported taint effect values: {EFFECTS}"],
    ),
    "flavor: taint key": (
        changed(RESOURCE_FLAVOR, spec__nodeTaints=[{"key": "@k", "effect": "NoSchedule"}]),
        [f'spec.nodeTaints[0].key: Invalid value: "@k": {LABEL_KEY}'],
    ),
    "flavor: taint value": (
        changed(RESOURCE_FLAVOR, spec__nodeTaints=[{**TAINT, "value": "a b"}]),
        [f'spec.nodeTaints[0].value: Invalid value: "a b": {LABEL_VALUE}'],
    ),
    "flavor: taint twice": (
        changed(RESOURCE_FLAVOR, spec__nodeTaints=[TAINT, TAINT]),
        [
            'spec.nodeTaints[1]: Duplicate value: {"key":"k","effect":"NoSchedule"}: '
            "taints must be unique by key and effect pair"
        ],
    ),
    "flavor: toleration without key": (
        changed(RESOURCE_FLAVOR, spec__tolerations=[{"operator": "Equal"}]),
        [
            "spec.tolerations: Invalid value: "
            "operator must be Exists when 'key' is empty, which means 'match all values and all keys'"
        ],
    ),
    "flavor: toleration seconds": (
        changed(RESOURCE_FLAVOR, spec__tolerations=[{**TAINT, "tolerationSeconds": 3}]),
        ["spec.tolerations: Invalid value: effect must be 'NoExecute' when 'tolerationSeconds' is set"],
    ),
    "flavor: toleration operator": (
        changed(RESOURCE_FLAVOR, spec__tolerations=[{"key": "k", "operator": "Like"}]),
        ["spec.tolerations: Invalid value: supported toleration values: 'Equal'(default), 'Exists'"],
    ),
    "flavor: toleration value": (
        changed(RESOURCE_FLAVOR, spec__tolerations=[{"key": "k", "operator": "Exists", "value": "v"}]),
        ["spec.tolerations: Invalid value: a value must be empty when 'operator' is 'Exists'"],
    ),
    "flavor: toleration key": (
        changed(RESOURCE_FLAVOR, spec__tolerations=[{"key": "@k"}]),
        [f'spec.tolerations[0].key: Invalid value: "@k": {LABEL_KEY}'],
    ),
    "flavor: topology without label": (
        changed(RESOURCE_FLAVOR, spec__nodeLabels={}),
        ["spec: Invalid value: at least one nodeLabel is required when topology is set"],
    ),
    "local queue: cluster queue name": (
        changed(LOCAL_QUEUE, spec__clusterQueue="A"),
        [mismatch("spec.clusterQueue", "A", DNS_SUBDOMAIN)],
    ),
    "topology: level twice": (
        changed(TOPOLOGY, spec__levels=[{"nodeLabel": "rack"}, {"nodeLabel": "rack"}]),
        ["spec.levels: Invalid value: must be unique"],
    ),
    "topology: host above": (
        changed(TOPOLOGY, spec__levels=[{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}]),
        [
            "spec.levels: Invalid value: "
            "the kubernetes.io/hostname label can only be used at the lowest level of topology"
        ],
    ),
    "topology: label": (
        changed(TOPOLOGY, spec__levels=[{"nodeLabel": "rack!"}]),
        [mismatch("spec.levels[0].nodeLabel", "rack!", QUALIFIED_NAME)],
    ),
    "topology: no level": (
        changed(TOPOLOGY, spec__levels=[]),
        ["spec.levels: Invalid value: 0: spec.levels in body should have at least 1 items"],
    ),
    "check: no controller": (
        changed(ADMISSION_CHECK, spec__controllerName=ABSENT),
        ["spec.controllerName: Required value"],
    ),
    "check: half a reference": (
        changed(ADMISSION_CHECK, spec__parameters={"apiGroup": "g", "kind": "K"}),
        ["spec.parameters.name: Required value"],
    ),
    "priority class: no value": (PRIORITY_CLASS, ["value: Required value"]),
    "priority class: text": (
        changed(PRIORITY_CLASS, value="high"),
        ['value: Invalid value: "string": value in body must be of type integer: "string"'],
    ),
    "worker: no source": (
        changed(MULTIKUEUE_CLUSTER, spec__clusterSource={}),
        [
            "spec.clusterSource: Invalid value: "
            "exactly one of the fields in [kubeConfig clusterProfileRef agent] must be set"
        ],
    ),
    "worker: two sources": (
        changed(MULTIKUEUE_CLUSTER, spec__clusterSource__agent={"name": "a"}),
        [
            "spec.clusterSource: Invalid value: "
            "exactly one of the fields in [kubeConfig clusterProfileRef agent] must be set"
        ],
    ),
    "worker: kind of location": (
        changed(MULTIKUEUE_CLUSTER, spec__clusterSource__kubeConfig__locationType="File"),
        [choices("spec.clusterSource.kubeConfig.locationType", "File", "Secret", "Path")],
    ),
    "workers: one twice": (
        changed(MULTIKUEUE_CONFIG, spec__clusters=["a", "b", "a"]),
        ["spec.clusters: Invalid value: must be unique"],
    ),
    "workers: too many": (
        changed(MULTIKUEUE_CONFIG, spec__clusters=[f"w{i}" for i in range(65)]),
        ["spec.clusters: Too many: 65: must have at most 64 items"],
    ),
    "workers: quota management": (
        changed(MULTIKUEUE_CONFIG, spec__quotaManagement="Magic"),
        [choices("spec.quotaManagement", "Magic", "Manual", "Automated")],
    ),
    "provisioning: class name": (
        changed(PROVISIONING_CONFIG, spec__provisioningClassName="Check"),
        [mismatch("spec.provisioningClassName", "Check", DNS_SUBDOMAIN)],
    ),
    "dispatch policy: strategy": (
        changed(DISPATCH_POLICY, spec__strategy="Best"),
        [choices("spec.strategy", "Best", "Fastest", "Spread", "Pack", "Cheapest")],
    ),
    "dispatch policy: weight": (
        changed(DISPATCH_POLICY, spec__movingWeight=-1),
        ["spec.movingWeight: Invalid value: -1: spec.movingWeight in body should be greater than or equal to 0"],
    ),
    "dispatch policy: region twice": (
        changed(DISPATCH_POLICY, spec__regions={"preferred": ["eu", "eu"]}),
        ["spec.regions.preferred: Invalid value: must be unique"],
    ),
}


@pytest.mark.parametrize(("document", "lines"), OTHERS.values(), ids=OTHERS)
def test_other_kinds(document: dict[str, Any], lines: list[str]) -> None:
    assert told(document) == lines


UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "local queue moves": (
        LOCAL_QUEUE,
        {"spec__clusterQueue": "other"},
        ['spec.clusterQueue: Invalid value: "other": field is immutable'],
    ),
    "check changes hands": (
        ADMISSION_CHECK,
        {"spec__controllerName": "other"},
        ['spec.controllerName: Invalid value: "other": field is immutable'],
    ),
    "flavor changes its topology": (
        RESOURCE_FLAVOR,
        {"spec__topologyName": "other"},
        ["spec: Invalid value: topologyName is immutable when topologyName is set"],
    ),
    "flavor drops its topology": (
        RESOURCE_FLAVOR,
        {"spec__topologyName": ABSENT},
        ["spec: Invalid value: topologyName is immutable when topologyName is set"],
    ),
    "topology without hosts changes": (
        TOPOLOGY,
        {"spec__levels": [{"nodeLabel": "block"}]},
        [
            "spec.levels: Invalid value: levels are mutable only when kubernetes.io/hostname is the lowest level "
            "both before and after the change"
        ],
    ),
    "concurrent admission added": (
        CLUSTER_QUEUE,
        {"spec__concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}},
        [
            'spec.concurrentAdmissionPolicy: Invalid value: {"migration":{"mode":"TryPreferredFlavors"}}: '
            "field is immutable"
        ],
    ),
}


@pytest.mark.parametrize(("before", "places", "lines"), UPDATES.values(), ids=UPDATES)
def test_update(before: dict[str, Any], places: dict[str, Any], lines: list[str]) -> None:
    assert told(changed(before, **places), before) == lines


VALID = (CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR, LOCAL_QUEUE, TOPOLOGY, ADMISSION_CHECK, MULTIKUEUE_CLUSTER)
VALID += (MULTIKUEUE_CONFIG, PROVISIONING_CONFIG, DISPATCH_POLICY, changed(PRIORITY_CLASS, value=1000))


@pytest.mark.parametrize("document", VALID, ids=lambda document: document["kind"])
def test_what_the_tables_start_from_is_valid(document: dict[str, Any]) -> None:
    assert refusals(document) == []

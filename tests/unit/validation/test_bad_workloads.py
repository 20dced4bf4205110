"""What a user, a job controller or a check is told for a broken Workload, at creation and at updates."""

from typing import Any

import pytest

from tests.unit.validation.front_door import refusals
from tests.unit.validation.manifests import ABSENT, WHEN, WORKLOAD, Document, changed, condition, pod_set, reserved
from tests.unit.validation.messages import LABEL_KEY, LABEL_VALUE, choices, mismatch, told
from worker_agent.api.schema import DNS_LABEL, DNS_SUBDOMAIN, QUANTITY
from worker_agent.validation import ValidationPolicy

RESOURCES = "spec__podSets__0__template__spec__containers__0__resources"
AMOUNTS = "spec.podSets[0].template.spec.containers[0].resources"
METADATA = "spec__podSets__0__template__metadata"
SLICES = "spec.podSets[0].topologyRequest.podSetSliceSize"
GATES = "kueue.x-k8s.io/admission-gated-by"
GATES_PATH = f"metadata.annotations[{GATES}]"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
KUEUE_CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
POD_CLASS = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}


def gated(value: str) -> dict[str, Any]:
    return {"metadata__annotations": {GATES: value}}


def below(path: str, least: int, value: int) -> str:
    return f"{path}: Invalid value: {value}: {path} in body should be greater than or equal to {least}"


CREATIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no pod set": (
        {"spec__podSets": []},
        ["spec.podSets: Invalid value: 0: spec.podSets in body should have at least 1 items"],
    ),
    "too many pod sets": (
        {"spec__podSets": [pod_set(f"p{i}") for i in range(19)]},
        ["spec.podSets: Too many: 19: must have at most 18 items"],
    ),
    "pod set twice": (
        {"spec__podSets": [pod_set("a"), pod_set("a")]},
        ['spec.podSets[1]: Duplicate value: {"name":"a"}'],
    ),
    "pod set name": ({"spec__podSets": [pod_set("A")]}, [mismatch("spec.podSets[0].name", "A", DNS_LABEL)]),
    "negative count": ({"spec__podSets__0__count": -1}, [below("spec.podSets[0].count", 0, -1)]),
    "smallest count of zero": ({"spec__podSets__0__minCount": 0}, [below("spec.podSets[0].minCount", 1, 0)]),
    "smallest count above count": (
        {"spec__podSets__0__minCount": 4},
        ["spec.podSets[0]: Invalid value: minCount should be positive and less or equal to count"],
    ),
    "two smallest counts": (
        {"spec__podSets": [pod_set("a", minCount=1), pod_set("b", minCount=1)]},
        ["spec.podSets: Invalid value: 2: at most one podSet can use minCount"],
    ),
    "partial and elastic": (
        {"spec__podSets__0__minCount": 1, "metadata__annotations": ELASTIC},
        ["spec.podSets: Invalid value: 1: partial admission and elastic job cannot be used together"],
    ),
    "negative request": (
        {f"{RESOURCES}__requests": {"cpu": "-1"}},
        [f'{AMOUNTS}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "negative pod limit": (
        {"spec__podSets__0__template__spec__resources": {"limits": {"memory": "-1Gi"}}},
        [
            'spec.podSets[0].template.spec.resources.limits[memory]: Invalid value: "-1Gi": '
            "must be greater than or equal to 0"
        ],
    ),
    "reserved resource": (
        {f"{RESOURCES}__limits": {"pods": "1"}},
        [f'{AMOUNTS}.limits[pods]: Invalid value: "pods": the key is reserved for internal kueue use'],
    ),
    "wrong quantity": (
        {f"{RESOURCES}__requests": {"cpu": "1core"}},
        [mismatch(f"{AMOUNTS}.requests.cpu", "1core", QUANTITY)],
    ),
    "template label": (
        {METADATA: {"labels": {"app": "a b"}}},
        [f'spec.podSets[0].template.metadata.labels: Invalid value: "a b": {LABEL_VALUE}'],
    ),
    "template annotation": (
        {METADATA: {"annotations": {"@a": "b"}}},
        [f'spec.podSets[0].template.metadata.annotations: Invalid value: "@a": {LABEL_KEY}'],
    ),
    "no template": ({"spec__podSets__0__template": ABSENT}, ["spec.podSets[0].template: Required value"]),
    "no containers": (
        {"spec__podSets__0__template__spec": {}},
        ["spec.podSets[0].template.spec.containers: Required value"],
    ),
    "slices without size": (
        {"spec__podSets__0__topologyRequest": {"podSetSliceRequiredTopology": "rack"}},
        [f"{SLICES}: Required value: must be set when podSetSliceRequiredTopology is set"],
    ),
    "size without slices": (
        {"spec__podSets__0__topologyRequest": {"podSetSliceSize": 2}},
        [f"{SLICES}: Forbidden: may only be set together with podSetSliceRequiredTopology"],
    ),
    "queue name": ({"spec__queueName": "Q"}, [mismatch("spec.queueName", "Q", DNS_SUBDOMAIN)]),
    "class without priority": (
        {"spec__priorityClassRef": KUEUE_CLASS},
        ["spec: Invalid value: priority should not be nil when priorityClassRef is set"],
    ),
    "kind of another group": (
        {"spec__priority": 1, "spec__priorityClassRef": {**KUEUE_CLASS, "kind": "PriorityClass"}},
        [
            "spec.priorityClassRef: Invalid value: "
            "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group"
        ],
    ),
    "group of another kind": (
        {"spec__priority": 1, "spec__priorityClassRef": {**KUEUE_CLASS, "group": "scheduling.k8s.io"}},
        [
            "spec.priorityClassRef: Invalid value: "
            "only the PriorityClass kind is allowed for the scheduling.k8s.io group"
        ],
    ),
    "no time to run": (
        {"spec__maximumExecutionTimeSeconds": 0},
        [below("spec.maximumExecutionTimeSeconds", 1, 0)],
    ),
    "empty gate": (
        gated("a.com/x,,b.com/y"),
        [f'{GATES_PATH}: Invalid value: "": cannot contain empty gate names'],
    ),
    "gate twice": (
        gated("a.com/x, a.com/x"),
        [f'{GATES_PATH}: Invalid value: "a.com/x, a.com/x": duplicate gate name: a.com/x'],
    ),
    "gate without domain": (
        gated("gate"),
        [f'{GATES_PATH}: Invalid value: "gate": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    "long gate": (gated(f"a.com/{'x' * 60}"), [f"{GATES_PATH}: Too long: may not be more than 63 bytes"]),
}


@pytest.mark.parametrize(("places", "lines"), CREATIONS.values(), ids=CREATIONS)
def test_creation(places: dict[str, Any], lines: list[str]) -> None:
    assert told(changed(WORKLOAD, **places)) == lines


def test_priority_boost_is_an_integer_where_it_counts() -> None:
    boosted = changed(WORKLOAD, metadata__annotations={"kueue.x-k8s.io/priority-boost": "much"})
    line = 'metadata.annotations[kueue.x-k8s.io/priority-boost]: Invalid value: "much": must be a 32-bit integer'
    assert refusals(boosted, policy=ValidationPolicy(priority_boost=True)) == [line]
    assert refusals(boosted) == []


RUNNING = changed(
    reserved(changed(WORKLOAD, spec__maximumExecutionTimeSeconds=60)),
    status__conditions=[condition("QuotaReserved"), condition("Admitted")],
)
WITH_POD_CLASS = reserved(changed(WORKLOAD, spec__priority=1, spec__priorityClassRef=POD_CLASS))
FROZEN = "<nil>: Invalid value: {} is immutable while workload quota reserved"

UPDATES: dict[str, tuple[Document, dict[str, Any], list[str]]] = {
    "gate added": (WORKLOAD, gated("a.com/x"), [f"{GATES_PATH}: Forbidden: cannot add admission gate after creation"]),
    "another gate": (
        changed(WORKLOAD, **gated("a.com/x")),
        gated("a.com/x,b.com/y"),
        [f"{GATES_PATH}: Forbidden: can only remove gates, not add new ones"],
    ),
    "more pods while reserved": (
        reserved(WORKLOAD),
        {"spec__podSets": [pod_set(count=5)]},
        [
            'spec.podSets.0: Invalid value: {"name":"main","count":5,"template":{"spec":{"containers":[{"name":"c",'
            '"image":"i","resources":{"requests":{"cpu":"1"}}}],"restartPolicy":"Never"}}}: field is immutable'
        ],
    ),
    "queue while reserved": (reserved(WORKLOAD), {"spec__queueName": "other"}, [FROZEN.format("queueName")]),
    "class while reserved": (
        reserved(WORKLOAD),
        {"spec__priority": 1, "spec__priorityClassRef": POD_CLASS},
        [FROZEN.format("priorityClassRef")],
    ),
    "class of another kind while reserved": (
        WITH_POD_CLASS,
        {"spec__priorityClassRef": KUEUE_CLASS},
        [FROZEN.format("priorityClassRef.group"), FROZEN.format("priorityClassRef.kind")],
    ),
    "pod class while reserved": (
        WITH_POD_CLASS,
        {"spec__priorityClassRef__name": "low"},
        [FROZEN.format("priorityClassRef.name").replace("immutable", "immutable for scheduling.k8s.io/priorityclass")],
    ),
    "time to run while admitted": (
        RUNNING,
        {"spec__maximumExecutionTimeSeconds": 90},
        [FROZEN.format("maximumExecutionTimeSeconds")],
    ),
}


@pytest.mark.parametrize(("before", "places", "lines"), UPDATES.values(), ids=UPDATES)
def test_update(before: Document, places: dict[str, Any], lines: list[str]) -> None:
    assert told(changed(before, **places), before) == lines


def check(**places: Any) -> Document:
    found = {"name": "c", "state": "Ready", "message": "", "lastTransitionTime": WHEN}
    return changed({**found, "podSetUpdates": [{"name": "main", "labels": {"a": "b"}}]}, **places)


def dispatched(**status: Any) -> Document:
    return {**WORKLOAD, "status": status}


DONE = [{"name": "main", "count": 2}]
STATUSES: dict[str, tuple[Document, Document, list[str]]] = {
    "reserved without admission": (
        WORKLOAD,
        reserved(admission=None),
        ["status.admission: Required value: must be set while the QuotaReserved condition is true"],
    ),
    "usage that cannot be divided": (
        WORKLOAD,
        changed(reserved(), status__admission__podSetAssignments__0__resourceUsage={"cpu": "4"}),
        ['status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: "4": is not a multiple of 3'],
    ),
    "assignment of no pod set": (
        WORKLOAD,
        changed(reserved(), status__admission__podSetAssignments__0__name="other"),
        ['status.admission.podSetAssignments[0].name: Not found: "other"'],
    ),
    "assignments missing": (
        WORKLOAD,
        changed(reserved(), status__admission__podSetAssignments=[]),
        ["<nil>: Invalid value: podSetAssignments must have the same number of podSets as the spec"],
    ),
    "admission to another queue": (
        reserved(),
        changed(reserved(), status__admission={"clusterQueue": "r", "podSetAssignments": [{"name": "main"}]}),
        [
            'status.admission: Invalid value: {"clusterQueue":"r","podSetAssignments":[{"name":"main"}]}: '
            "field is immutable"
        ],
    ),
    "done pods of no pod set": (
        WORKLOAD,
        dispatched(reclaimablePods=[{"name": "b", "count": 1}]),
        [choices("status.reclaimablePods[b].name", "b", "main")],
    ),
    "more done than there are": (
        WORKLOAD,
        dispatched(reclaimablePods=[{"name": "main", "count": 4}]),
        ["status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3"],
    ),
    "fewer done than before": (
        reserved(reclaimablePods=DONE),
        reserved(reclaimablePods=[{"name": "main", "count": 1}]),
        ["status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2"],
    ),
    "done pods forgotten": (
        reserved(reclaimablePods=DONE),
        reserved(),
        ["status.reclaimablePods[main]: Required value: cannot be removed"],
    ),
    "check updates no pod set": (
        WORKLOAD,
        reserved(admissionChecks=[check(podSetUpdates__0__name="b")]),
        [choices("status.admissionChecks[0].podSetUpdates[0].name", "b", "main")],
    ),
    "check updates a broken label": (
        WORKLOAD,
        reserved(admissionChecks=[check(podSetUpdates__0__labels={"@a": "c"})]),
        [f'status.admissionChecks[0].podSetUpdates[0].labels: Invalid value: "@a": {LABEL_KEY}'],
    ),
    "ready check changes its mind": (
        reserved(admissionChecks=[check()]),
        reserved(admissionChecks=[check(podSetUpdates__0__labels={"a": "c"})]),
        [
            'status.admissionChecks[0].podSetUpdates: Invalid value: [{"name":"main","labels":{"a":"c"}}]: '
            "field is immutable"
        ],
    ),
    "state of a check": (
        WORKLOAD,
        reserved(admissionChecks=[check(state="Maybe")]),
        [choices("status.admissionChecks[0].state", "Maybe", "Pending", "Ready", "Retry", "Rejected")],
    ),
    "worker that was not nominated": (
        dispatched(nominatedClusterNames=["w1"]),
        dispatched(clusterName="w3"),
        [
            'status.clusterName: Invalid value: "w3": '
            "when setting clusterName it must be one of the nominatedClusterNames"
        ],
    ),
    "worker beside nominations": (
        dispatched(nominatedClusterNames=["w1"]),
        dispatched(clusterName="w1", nominatedClusterNames=["w1"]),
        ["status: Invalid value: clusterName and nominatedClusterNames are mutually exclusive"],
    ),
    "another worker": (
        dispatched(clusterName="w1"),
        dispatched(clusterName="w2"),
        ["status: Invalid value: clusterName is immutable once set"],
    ),
    "condition without reason": (
        WORKLOAD,
        dispatched(conditions=[{"type": "Admitted", "status": "True", "message": "", "lastTransitionTime": WHEN}]),
        ["status.conditions[0].reason: Required value"],
    ),
    "status of a condition": (
        WORKLOAD,
        dispatched(conditions=[condition("Admitted", "Maybe")]),
        [choices("status.conditions[0].status", "Maybe", "True", "False", "Unknown")],
    ),
}


@pytest.mark.parametrize(("before", "after", "lines"), STATUSES.values(), ids=STATUSES)
def test_status(before: Document, after: Document, lines: list[str]) -> None:
    assert told(after, before, subresource="status") == lines


@pytest.mark.parametrize("document", [WORKLOAD, reserved(), RUNNING, WITH_POD_CLASS])
def test_what_the_tables_start_from_is_valid(document: Document) -> None:
    assert refusals(document) == []

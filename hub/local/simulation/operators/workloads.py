"""apps/v1, as the controller manager runs it: Deployments through ReplicaSets, and StatefulSets."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from hub.local.simulation.operators.plan import Children, Kind, Plan, child, is_ready, named, phase, pod, settled
from worker_agent.api.document import Document, get
from worker_agent.api.resource_type import DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS

HASH_LABEL: Final = "pod-template-hash"
REVISION_LABEL: Final = "controller-revision-hash"
_ENDED: Final = ("Succeeded", "Failed")


def template_hash(template: Document) -> str:
    """Ten digits that change with the template."""
    text = json.dumps(template, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def decide_deployment(deployment: Document, children: Children, now: datetime) -> Plan:
    """One ReplicaSet for the template as it is; those of older templates go."""
    template = get(deployment, "spec.template", {})
    digest = template_hash(template)
    name = f"{deployment['metadata']['name']}-{digest}"
    replicas = get(deployment, "spec.replicas", 1)
    labelled = _labelled(template, {HASH_LABEL: digest})
    selector = get(deployment, "spec.selector", {})
    matched = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}}
    spec = {"replicas": replicas, "selector": matched, "template": labelled}
    labels = labelled["metadata"]["labels"]
    wanted = child(deployment, REPLICA_SETS, name, labels=labels, spec=spec)
    missing, extra = settled({name: wanted}, children[REPLICA_SETS], REPLICA_SETS)
    current = named(children[REPLICA_SETS]).get(name)
    change = []
    if current is not None and get(current, "spec.replicas", 1) != replicas:
        change.append((REPLICA_SETS, current, {**current, "spec": {**current["spec"], "replicas": replicas}}))
    counts = {} if current is None else (current.get("status") or {})
    status = _counts(counts.get("replicas", 0), counts.get("readyReplicas", 0), deployment)
    status |= {"updatedReplicas": counts.get("replicas", 0)}
    return Plan(create=missing, delete=extra, change=change, status=_without_zeros(status))


def decide_replica_set(replica_set: Document, children: Children, now: datetime) -> Plan:
    """As many pods as wanted that have not ended; an ended or deleted one is replaced under another name."""
    pods = [each for each in children[PODS] if not each["metadata"].get("deletionTimestamp")]
    alive = [each for each in pods if phase(each) not in _ENDED]
    wanted = get(replica_set, "spec.replicas", 1)
    name, taken = replica_set["metadata"]["name"], {each["metadata"]["name"] for each in children[PODS]}
    free = (f"{name}-{number}" for number in range(len(taken) + wanted))
    fresh = [each for each in free if each not in taken][: max(0, wanted - len(alive))]
    template = get(replica_set, "spec.template", {})
    create = [(PODS, pod(replica_set, each, template, {})) for each in fresh]
    surplus = sorted(alive, key=lambda each: (is_ready(each), str(each["metadata"]["name"])))[: len(alive) - wanted]
    delete = [(PODS, each) for each in (*surplus, *(each for each in pods if phase(each) in _ENDED))]
    status = _counts(len(alive), sum(map(is_ready, alive)), replica_set)
    return Plan(create=create, delete=delete if len(alive) > wanted else delete[len(surplus) :], status=status)


def decide_stateful_set(stateful_set: Document, children: Children, now: datetime) -> Plan:
    """Pods by ordinal, all at once; a pod of an older template goes when it may, one after the other."""
    template = get(stateful_set, "spec.template", {})
    revision = f"{stateful_set['metadata']['name']}-{template_hash(template)}"
    start, replicas = get(stateful_set, "spec.ordinals.start", 0), get(stateful_set, "spec.replicas", 1)
    name = stateful_set["metadata"]["name"]
    wanted: dict[str, Document] = {}
    for ordinal in range(start, start + replicas):
        labels = {
            REVISION_LABEL: revision,
            "statefulset.kubernetes.io/pod-name": f"{name}-{ordinal}",
            "apps.kubernetes.io/pod-index": str(ordinal),
        }
        wanted[f"{name}-{ordinal}"] = pod(stateful_set, f"{name}-{ordinal}", template, labels)
    pods = children[PODS]
    missing, extra = settled(wanted, pods, PODS)
    present = [each for each in pods if not each["metadata"].get("deletionTimestamp")]
    old = [each for each in present if each["metadata"]["labels"].get(REVISION_LABEL) != revision]
    ended = [each for each in present if phase(each) in _ENDED]
    delete = [*extra, *((PODS, each) for each in (*ended, *_replaceable(old, present)))]
    ready = sum(map(is_ready, present))
    status = _counts(len(present), ready, stateful_set)
    updated = len(present) - len(old)
    before = get(stateful_set, "status.currentRevision", revision)
    status |= {"updateRevision": revision, "currentRevision": before if old else revision, "updatedReplicas": updated}
    return Plan(create=missing, delete=delete, status=status)


def _replaceable(old: list[Document], present: list[Document]) -> list[Document]:
    """The next pod to give way: one that is not ready first, else one once all others are."""
    waiting = [each for each in old if not is_ready(each)]
    if waiting:
        return waiting[:1]
    return old[-1:] if all(map(is_ready, present)) else []


def _labelled(template: Document, labels: Mapping[str, str]) -> Document:
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}


def _counts(replicas: int, ready: int, owner: Document) -> Document:
    counts = {"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready}
    return {**counts, "observedGeneration": owner["metadata"].get("generation", 1)}


def _without_zeros(status: Document) -> Document:
    return {name: value for name, value in status.items() if value}


OPERATORS: Final = (
    Kind(DEPLOYMENTS, (REPLICA_SETS,), decide_deployment),
    Kind(REPLICA_SETS, (PODS,), decide_replica_set),
    Kind(STATEFUL_SETS, (PODS,), decide_stateful_set),
)

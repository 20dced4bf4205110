"""A job's pod sets as its Workload holds them, and what an admission injects into them (spec/jobs 5.2, 5.5, 6)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import msgspec

from worker_agent.api import names, pod_set_info, written_quantities
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import InvalidPodSetInfo, PodSetInfo
from worker_agent.api.resource_flavor import ResourceFlavor

JOBS_REMEMBERED: Final = 512
"""Jobs whose pod sets were made last."""

_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


class FlavorMissing(LookupError):
    """An assigned flavor is gone; it may come back, so a start is tried again."""


def of_job(kind: JobKind, job: Document, policy: JobPolicy) -> list[Document]:
    """The job's ``podSets``: environments collapsed, minCount only with partial admission.

    Equal jobs may get the very same list: treat it as frozen. Raises TopologyRequestError.
    """
    if kind.pod_sets_by_spec and job["metadata"].get("uid"):
        return _made_before(_Asked(kind, job, policy))
    return _made(kind, job, policy)


def _made(kind: JobKind, job: Document, policy: JobPolicy) -> list[Document]:
    pod_sets = [pod_set.document() for pod_set in kind.pod_sets(job, policy)]
    return [_collapsed(pod_set if policy.partial_admission else without_min_count(pod_set)) for pod_set in pod_sets]


class _Asked:
    """All that the pod sets follow from, where no status counts. A job is asked about some ten times in its life, and
    its spec changes once or twice."""

    __slots__ = ("job", "kind", "policy")

    def __init__(self, kind: JobKind, job: Document, policy: JobPolicy) -> None:
        self.kind = kind
        self.job = job
        self.policy = policy

    def __hash__(self) -> int:
        return hash(self.job["metadata"]["uid"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Asked) or self.kind is not other.kind or self.policy is not other.policy:
            return False
        if self.job is other.job:
            return True
        mine, theirs = self.job["metadata"], other.job["metadata"]
        return bool(
            mine["uid"] == theirs["uid"]
            and self.job.get("spec") == other.job.get("spec")
            and mine.get("annotations") == theirs.get("annotations")
            and mine.get("labels") == theirs.get("labels")
            and mine["name"] == theirs["name"]
        )


@lru_cache(JOBS_REMEMBERED)
def _made_before(asked: _Asked) -> list[Document]:
    return _made(asked.kind, asked.job, asked.policy)


def without_min_count(pod_set: Document) -> Document:
    return {name: value for name, value in pod_set.items() if name != "minCount"}


def _collapsed(pod_set: Document) -> Document:
    for containers in ("initContainers", "containers"):
        path = ("template", "spec", containers)
        before = at(pod_set, path, [])
        after = [written_quantities.in_container(_without_duplicate_env(container)) for container in before]
        if after != before:
            pod_set = put(pod_set, path, after)
    return pod_set


def _without_duplicate_env(container: Document) -> Document:
    """Of variables with one name the last wins, in the place of the first, as in a container."""
    env = container.get("env") or []
    last = {variable.get("name"): variable for variable in env}
    return container if len(last) == len(env) else {**container, "env": list(last.values())}


def infos_of_spec(workload: Document) -> list[PodSetInfo]:
    """What the templates held when the Workload was made: what a stop puts back."""
    return [PodSetInfo.of_pod_set(pod_set) for pod_set in at(workload, ("spec", "podSets"), [])]


def infos_of_admission(
    workload: Document, flavors: Mapping[str, ResourceFlavor], policy: JobPolicy
) -> list[PodSetInfo]:
    """What starting the admitted Workload injects, per pod set assignment.

    Raises FlavorMissing, and InvalidPodSetInfo when two admission checks contradict each other.
    """
    assignments = at(workload, ("status", "admission", "podSetAssignments"), [])
    pod_sets = {pod_set.get("name", "main"): pod_set for pod_set in at(workload, ("spec", "podSets"), [])}
    return [
        _info(workload, assignment, pod_sets.get(assignment.get("name", "main"), {}), flavors, policy)
        for assignment in assignments
    ]


def _info(
    workload: Document,
    assignment: Document,
    pod_set: Document,
    flavors: Mapping[str, ResourceFlavor],
    policy: JobPolicy,
) -> PodSetInfo:
    placed = info_of_assignment(assignment, pod_set, flavors, topology_aware=policy.topology_aware)
    name = placed.name
    info = replace(
        placed,
        count=int(pod_set.get("count", 1) if assignment.get("count") is None else assignment["count"]),
        labels=_labels(workload, name, policy),
        annotations={**_annotations(workload, policy), **placed.annotations},
    )
    for check in at(workload, ("status", "admissionChecks"), []):
        for update in check.get("podSetUpdates") or ():
            if update.get("name") == name:
                info = _with_update(info, check, update)
    return info


def info_of_assignment(
    assignment: Document, pod_set: Document, flavors: Mapping[str, ResourceFlavor], *, topology_aware: bool
) -> PodSetInfo:
    """What the place of a pod set's pods injects: its flavors, and the gate behind which pods wait for a topology.

    Raises FlavorMissing.
    """
    annotations: dict[str, str] = {}
    gates: tuple[Document, ...] = ()
    if topology_aware and assignment.get("topologyAssignment"):
        # Pods wait for the ungater, which knows their place.
        gates = ({"name": names.TOPOLOGY_SCHEDULING_GATE},)
        request = pod_set.get("topologyRequest") or {}
        if not any(request.get(mode) is not None for mode in ("required", "preferred", "unconstrained")):
            annotations[names.UNCONSTRAINED_TOPOLOGY_ANNOTATION] = "true"
    name = assignment.get("name", names.DEFAULT_POD_SET_NAME)
    info = PodSetInfo(name=name, annotations=annotations, scheduling_gates=gates)
    return _with_flavors(info, assignment, flavors)


def _with_update(info: PodSetInfo, check: Document, update: Document) -> PodSetInfo:
    try:
        return info.merged(PodSetInfo.of_update(update))
    except InvalidPodSetInfo as conflict:
        raise InvalidPodSetInfo(f'in admission check "{check.get("name", "")}": {conflict}') from conflict


def _with_flavors(info: PodSetInfo, assignment: Document, flavors: Mapping[str, ResourceFlavor]) -> PodSetInfo:
    selector: dict[str, str] = {}
    tolerations: list[Any] = []
    assigned = assignment.get("flavors") or {}
    for name in dict.fromkeys(assigned[resource] for resource in sorted(assigned)):
        if name not in flavors:
            raise FlavorMissing(f'resourceflavors.kueue.x-k8s.io "{name}" not found')
        spec = flavors[name].spec
        selector |= spec.node_labels or {}
        tolerations += [msgspec.to_builtins(toleration) for toleration in spec.tolerations or ()]
    return replace(info, node_selector=selector, tolerations=tuple(tolerations))


def _labels(workload: Document, name: str, policy: JobPolicy) -> dict[str, str]:
    labels = {names.POD_SET_LABEL: name}
    if policy.queue_labels_on_pods:
        labels[names.LOCAL_QUEUE_NAME_LABEL] = at(workload, ("spec", "queueName"), "")
        cluster_queue = at(workload, ("status", "admission", "clusterQueue"), "")
        if _DNS_LABEL.match(cluster_queue):
            labels[names.CLUSTER_QUEUE_NAME_LABEL] = cluster_queue
    if at(workload, ("metadata", "labels"), {}).get(names.MULTIKUEUE_ORIGIN_LABEL):
        labels[names.MULTIKUEUE_WORKER_POD_LABEL] = "true"
    return labels


def _annotations(workload: Document, policy: JobPolicy) -> dict[str, str]:
    annotations: dict[str, str] = {}
    if policy.topology_aware:
        annotations[names.WORKLOAD_ANNOTATION] = workload["metadata"]["name"]
    if policy.elastic_jobs and is_elastic(workload):
        annotations[names.WORKLOAD_SLICE_NAME_ANNOTATION] = slice_name(workload)
    return annotations


def is_elastic(document: Document) -> bool:
    """Whether a job or a Workload says of itself that it is elastic."""
    return bool(at(document, ("metadata", "annotations"), {}).get(names.ELASTIC_JOB_ANNOTATION) == "true")


def slice_name(workload: Document) -> str:
    """The name of the chain of slices: that of its first Workload."""
    annotations = at(workload, ("metadata", "annotations"), {})
    return str(annotations.get(names.WORKLOAD_SLICE_NAME_ANNOTATION) or workload["metadata"]["name"])


def may_be_partial(workload: Document) -> bool:
    """Whether fewer pods than asked for may have been granted."""
    pod_sets = at(workload, ("spec", "podSets"), [])
    return any(pod_set.get("count", 1) > pod_set.get("minCount", pod_set.get("count", 1)) for pod_set in pod_sets)


def running_form(workload: Document, flavors: Mapping[str, ResourceFlavor], policy: JobPolicy) -> list[Document] | None:
    """The pod sets as the started job shows them: what was injected is in, a partial grant is the count.

    None where that cannot be told (a flavor is gone, the admission does not name every pod set).
    """
    try:
        infos = {info.name: info for info in infos_of_admission(workload, flavors, policy)}
        pod_sets = at(workload, ("spec", "podSets"), [])
        partial = may_be_partial(workload)
        return [_running(pod_set, infos[pod_set.get("name", "main")], partial) for pod_set in pod_sets]
    except (FlavorMissing, InvalidPodSetInfo, KeyError):
        return None


def _running(pod_set: Document, info: PodSetInfo, partial: bool) -> Document:
    running = {**pod_set, "template": pod_set_info.inject(pod_set.get("template") or {}, info)}
    if partial and pod_set.get("minCount") is not None:
        running["count"] = info.count
    return running

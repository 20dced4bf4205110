"""Which pods of an elastic job may be scheduled: as many as the job's present slice was granted (spec/engine 20).

Pods of all slices of a job belong together. The newest slice that holds quota says how many of each pod set may run;
its checks may ask for node selectors and a ProvisioningRequest, which a pod takes over when its gate goes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, get
from worker_agent.api.resource_type import PODS
from worker_agent.engine import reservation, workload_status
from worker_agent.engine.intents import PatchObject
from worker_agent.engine.tas.ungating import UngatingError, pods_of

IDENTITY_ANNOTATIONS: Final = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
)
"""Which ProvisioningRequest a pod consumes. Once a pod has one it keeps it."""


@dataclass(frozen=True, slots=True)
class Ungate:
    """Take the gate of an elastic job from ``pod`` and give it what the checks of its slice ask for."""

    pod: Document
    node_selector: Document = field(default_factory=dict)
    annotations: Document = field(default_factory=dict)

    def intent(self) -> PatchObject:
        metadata, spec = self.pod["metadata"], self.pod.get("spec") or {}
        gates = [g for g in spec.get("schedulingGates") or () if g["name"] != names.ELASTIC_JOB_SCHEDULING_GATE]
        after = {
            **self.pod,
            "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **self.annotations}},
            "spec": {**spec, "schedulingGates": gates},
        }
        if self.node_selector:
            after["spec"]["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **self.node_selector}
        return PatchObject(resource=PODS, before=self.pod, after=after)


def is_elastic(workload: Document) -> bool:
    annotations = get(workload, "metadata.annotations", {}) or {}
    return bool(annotations.get(names.ELASTIC_JOB_ANNOTATION) == "true")


def decide(slices: Iterable[Document], pods: Sequence[Document], unobserved: Collection[str] = ()) -> list[Ungate]:
    """``slices``: the Workloads of one elastic job; ``pods``: those of its namespace or fewer.

    ``unobserved`` are UIDs of pods that were ungated and do not show it yet. Raises UngatingError.
    """
    if unobserved:
        raise UngatingError("pending elastic ungate operations")
    present = present_slice(slices)
    if present is None:
        return []
    found: list[Ungate] = []
    for pod_set in present["spec"]["podSets"]:
        mine = list(pods_of(present, pods, pod_set["name"]))
        gated = sorted((pod for pod in mine if _is_gated(pod)), key=lambda pod: str(pod["metadata"]["name"]))
        room = max(0, int(pod_set.get("count", 1)) - (len(mine) - len(gated)))
        node_selector, annotations = _updates(present, pod_set["name"])
        ready = [pod for pod in gated if _takes(pod, node_selector, annotations)]
        found += [Ungate(pod, node_selector, annotations) for pod in ready[:room]]
    return found


def present_slice(slices: Iterable[Document]) -> Document | None:
    """The newest slice with quota; None while it is not admitted: its checks may still be on their way."""
    live = [
        slice_
        for slice_ in slices
        if is_elastic(slice_)
        and reservation.has_quota(slice_)
        and not workload_status.is_true(slice_, names.FINISHED)
        and not workload_status.is_true(slice_, names.EVICTED)
    ]
    if not live:
        return None
    newest = max(live, key=lambda s: (s["metadata"].get("creationTimestamp") or "", s["metadata"].get("uid") or ""))
    return newest if workload_status.is_true(newest, names.ADMITTED) else None


def _is_gated(pod: Document) -> bool:
    gates = get(pod, "spec.schedulingGates", []) or ()
    return any(gate["name"] == names.ELASTIC_JOB_SCHEDULING_GATE for gate in gates)


def _updates(workload: Document, pod_set: str) -> tuple[Document, Document]:
    """Node selector and annotations that the checks ask for. Raises UngatingError where two of them disagree."""
    node_selector: Document = {}
    annotations: Document = {}
    for check in get(workload, "status.admissionChecks", []) or ():
        for update in check.get("podSetUpdates") or ():
            if update["name"] == pod_set:
                told = update.get("annotations") or {}
                identity = {name: told[name] for name in IDENTITY_ANNOTATIONS if name in told}
                _merge(annotations, identity, "annotation", pod_set)
                _merge(node_selector, update.get("nodeSelector") or {}, "node selector", pod_set)
    return node_selector, annotations


def _merge(known: Document, more: Document, what: str, pod_set: str) -> None:
    for name, value in more.items():
        if known.setdefault(name, value) != value:
            raise UngatingError(f'conflicting "{name}" {what} updates for PodSet "{pod_set}"')


def _takes(pod: Document, node_selector: Document, annotations: Document) -> bool:
    """Not a pod that was made for another ProvisioningRequest or other nodes: its job has to make it anew."""
    has = get(pod, "metadata.annotations", {}) or {}
    selects = get(pod, "spec.nodeSelector", {}) or {}
    return all(has.get(name, value) == value for name, value in annotations.items()) and all(
        selects.get(name, value) == value for name, value in node_selector.items()
    )

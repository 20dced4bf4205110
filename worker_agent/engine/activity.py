"""Whether a ClusterQueue or LocalQueue takes workloads, and the Active condition that says why not (spec/engine 17)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.engine.cluster_queue import ClusterQueueRow, LocalQueueRow
from worker_agent.engine.flavor_row import FlavorRow


@dataclass(frozen=True, slots=True)
class Activity:
    """The Active condition of a queue."""

    active: bool
    reason: str
    message: str


READY: Final = Activity(True, names.READY, "Can admit new workloads")
NOT_FOUND: Final = Activity(False, names.NOT_FOUND, "ClusterQueue not found")
_TERMINATING: Final = Activity(False, names.TERMINATING, "Can't admit new workloads; clusterQueue is terminating")
_CHECKS_MISSING: Final = "references missing AdmissionCheck(s): "
_MULTIPLE: Final = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "


@dataclass(frozen=True, slots=True)
class References:
    """What ClusterQueues refer to, as far as it exists."""

    flavors: Mapping[str, FlavorRow]
    checks: Mapping[str, AdmissionCheck]
    topologies: Mapping[str, object]


def cluster_queue_activity(queue: ClusterQueueRow, references: References) -> Activity:
    """Terminating beats everything; else the first applicable reason, and all messages in one."""
    if queue.terminating:
        return _TERMINATING
    problems = [
        *_stopped(queue),
        *_missing_flavors(queue, references),
        *_check_problems(queue, references),
        *_missing_topologies(queue, references),
    ]
    if not problems:
        return READY
    messages = ", ".join(message for _, message in problems)
    return Activity(False, problems[0][0], f"Can't admit new workloads: {messages}.")


_Problems = list[tuple[str, str]]


def _stopped(queue: ClusterQueueRow) -> _Problems:
    return [] if queue.stop_policy == names.STOP_NONE else [(names.STOPPED, "is stopped")]


def _missing_flavors(queue: ClusterQueueRow, references: References) -> _Problems:
    missing = [flavor for flavor in queue.flavors if flavor not in references.flavors]
    if not missing:
        return []
    return [(names.FLAVOR_NOT_FOUND, f"references missing ResourceFlavor(s): {','.join(missing)}")]


def _check_problems(queue: ClusterQueueRow, references: References) -> _Problems:
    known = {name: references.checks[name] for name in sorted(queue.checks) if name in references.checks}
    missing = [name for name in sorted(queue.checks) if name not in known]
    inactive = [name for name, check in known.items() if not _is_active(check)]
    multikueue = [name for name, check in known.items() if check.spec.controller_name == names.MULTIKUEUE_CONTROLLER]
    provisioning = [
        name for name, check in known.items() if check.spec.controller_name == names.PROVISIONING_CONTROLLER
    ]
    partial = [name for name in multikueue if queue.checks[name] != frozenset(queue.flavors)]
    problems: _Problems = []
    if missing:
        problems.append((names.ADMISSION_CHECK_NOT_FOUND, f"{_CHECKS_MISSING}{','.join(missing)}"))
    if inactive:
        message = f"references inactive AdmissionCheck(s): {','.join(inactive)}"
        problems.append((names.ADMISSION_CHECK_INACTIVE, message))
    if len(multikueue) > 1:
        problems.append((names.MULTIPLE_MULTIKUEUE_ADMISSION_CHECKS, _MULTIPLE + ",".join(multikueue)))
    if partial:
        message = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(partial)}"
        problems.append((names.MULTIKUEUE_ADMISSION_CHECK_APPLIED_PER_FLAVOR, message))
    if multikueue and provisioning:
        message = (
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
            f"{','.join(multikueue)}, {','.join(provisioning)}"
        )
        problems.append((names.MULTIKUEUE_WITH_PROVISIONING_REQUEST, message))
    return problems


def _missing_topologies(queue: ClusterQueueRow, references: References) -> _Problems:
    if any(
        check in references.checks and references.checks[check].spec.controller_name == names.MULTIKUEUE_CONTROLLER
        for check in queue.checks
    ):
        return []
    wanted = {f: references.flavors[f].topology for f in queue.flavors if f in references.flavors}
    return [
        (names.TOPOLOGY_NOT_FOUND, f'there is no Topology "{topology}" for TAS flavor "{flavor}"')
        for flavor, topology in sorted(wanted.items())
        if topology and topology not in references.topologies
    ]


def _is_active(check: AdmissionCheck) -> bool:
    return any(condition.type == names.ACTIVE and condition.is_true for condition in check.status.conditions or ())


def local_queue_activity(queue: LocalQueueRow, cluster_queue: Activity | None) -> Activity:
    """``cluster_queue`` is the activity of the ClusterQueue it names, None when there is none."""
    if queue.stopped:
        return Activity(False, names.STOPPED, "LocalQueue is stopped")
    if cluster_queue is None:
        message = "Can't submit new workloads to clusterQueue"
        return Activity(False, names.CLUSTER_QUEUE_DOES_NOT_EXIST, message)
    if not cluster_queue.active:
        return Activity(False, names.CLUSTER_QUEUE_IS_INACTIVE, "Can't submit new workloads to clusterQueue")
    return Activity(True, names.READY, "Can submit new workloads to localQueue")

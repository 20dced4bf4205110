"""The training operators' kinds: a pod for each replica of each role (kubeflow.org/v1 and v2beta1)."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from hub.local.simulation.operators.plan import Children, Kind, Plan, is_finished, phase, pod, settled, with_conditions
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind
from worker_agent.api.resource_type import PODS
from worker_agent.jobs.replica_roles import ReplicaRolesJob

PREFIX = "training.kubeflow.org"
_COORDINATORS = ("Launcher", "Chief", "Master")
"""The role whose end is the job's; without any of them all workers have to end."""


def operator(kind: ReplicaRolesJob) -> Kind:
    return Kind(kind.resource, (PODS,), partial(_decide, kind))


def _decide(kind: ReplicaRolesJob, job: Document, children: Children, now: datetime) -> Plan:
    pods = children[PODS]
    if is_finished(job, "Succeeded", "Failed"):
        running = [(PODS, each) for each in pods if phase(each) in ("Pending", "Running")]
        return Plan(delete=[each for each in running if not each[1]["metadata"].get("deletionTimestamp")])
    if kind.is_suspended(job):
        told = {"Suspended": (True, "Suspended", ""), "Running": (False, "Suspended", "")}
        status = {"conditions": with_conditions(job, told, now), "replicaStatuses": _statuses(kind, job, pods)}
        return Plan(delete=settled({}, pods, PODS)[1], status=status)
    missing, extra = settled(_wanted(kind, job), pods, PODS)
    return Plan(create=missing, delete=extra, status=_status(kind, job, pods, now))


def _wanted(kind: ReplicaRolesJob, job: Document) -> dict[str, Document]:
    name = job["metadata"]["name"]
    found: dict[str, Document] = {}
    for spot in kind.templates(job):
        for index in range(spot.count):
            labels = {
                f"{PREFIX}/job-name": name,
                f"{PREFIX}/replica-type": spot.name.lower(),
                f"{PREFIX}/replica-index": str(index),
            }
            policy = at(job, (*kind.role_path(spot.name), "restartPolicy"), "Never")
            pod_name = f"{name}-{spot.name.lower()}-{index}"
            restart = {"restartPolicy": "Never" if policy == "ExitCode" else policy}
            found[pod_name] = pod(job, pod_name, at(job, spot.path, {}), labels, **restart)
    return found


def _of(pods: Sequence[Document], role: str) -> list[Document]:
    label = f"{PREFIX}/replica-type"
    return [each for each in pods if (each["metadata"].get("labels") or {}).get(label) == role.lower()]


def _statuses(kind: ReplicaRolesJob, job: Document, pods: Sequence[Document]) -> Document:
    found: Document = {}
    for spot in kind.templates(job):
        phases = [phase(each) for each in _of(pods, spot.name)]
        counts = {
            "active": sum(each in ("Pending", "Running") for each in phases),
            "succeeded": phases.count("Succeeded"),
            "failed": phases.count("Failed"),
        }
        found[spot.name] = {name: count for name, count in counts.items() if count}
    return found


def _status(kind: ReplicaRolesJob, job: Document, pods: Sequence[Document], now: datetime) -> Document:
    roles = {spot.name: spot.count for spot in kind.templates(job)}
    total = sum(roles.values())
    deciding = next((role for role in _COORDINATORS if role in roles), "Worker")
    ended = [phase(each) for each in _of(pods, deciding)]
    told = {"Created": (True, "JobCreated", "job is created"), "Suspended": (False, "Resumed", "")}
    if any(phase(each) == "Failed" for each in pods):
        told |= {"Failed": (True, "JobFailed", "a replica failed"), "Running": (False, "JobFailed", "")}
    elif deciding in roles and ended.count("Succeeded") == roles[deciding]:
        told |= {"Succeeded": (True, "JobSucceeded", "job is done"), "Running": (False, "JobSucceeded", "")}
    else:
        running = sum(phase(each) in ("Running", "Succeeded") for each in pods) == total
        told["Running"] = (running, "JobRunning" if running else "JobStarting", "")
    return {"conditions": with_conditions(job, told, now), "replicaStatuses": _statuses(kind, job, pods)}


def operators(kinds: Sequence[JobKind]) -> list[Kind]:
    """The operators of those of ``kinds`` that are made of replica roles."""
    return [operator(kind) for kind in kinds if isinstance(kind, ReplicaRolesJob)]

"""ray.io/v1: clusters of pods, jobs that bring their own cluster, and services (KubeRay)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from hub.local.simulation.operators.plan import (
    Children,
    Kind,
    Plan,
    child,
    condition,
    is_ready,
    pod,
    settled,
    with_conditions,
)
from hub.local.simulation.pod_life import DEFAULT_RUN_SECONDS, RUN_SECONDS
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.names import WANTED_WORKERS_ANNOTATION
from worker_agent.api.resource_type import JOBS, PODS, RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, ResourceType
from worker_agent.api.timestamps import parse, rfc3339
from worker_agent.jobs.ray_cluster import worker_count
from worker_agent.jobs.ray_job import SUBMITTER_TEMPLATE, RayJob

CLUSTER_LABEL: Final = "ray.io/cluster"
GROUP_LABEL: Final = "ray.io/group"
TYPE_LABEL: Final = "ray.io/node-type"
UNLIMITED: Final = 2**31 - 1


def decide_cluster(cluster: Document, children: Children, now: datetime) -> Plan:
    pods = children[PODS]
    if get(cluster, "spec.suspend", False):
        status = {"conditions": with_conditions(cluster, {"RayClusterSuspended": (True, "Suspended", "")}, now)}
        return Plan(delete=settled({}, pods, PODS)[1], status={**status, "state": "suspended"})
    wanted = _cluster_pods(cluster)
    missing, extra = settled(wanted, pods, PODS)
    workers = [each for each in pods if each["metadata"]["labels"].get(TYPE_LABEL) == "worker"]
    ready = len(pods) >= len(wanted) and all(map(is_ready, pods))
    told: Document = {
        **(cluster.get("status") or {}),
        "desiredWorkerReplicas": len(wanted) - 1,
        "readyWorkerReplicas": sum(map(is_ready, workers)),
        "conditions": with_conditions(cluster, {"RayClusterSuspended": (False, "Running", "")}, now),
    }
    # Once ready, it says so whatever is added later.
    told["state"] = "ready" if ready or get(cluster, "status.state") == "ready" else ""
    return Plan(create=missing, delete=extra, change=_autoscaling(cluster), status=_told(told))


def _autoscaling(cluster: Document) -> list[tuple[ResourceType, Document, Document]]:
    """What Ray's autoscaler in the head changes: each group as large as its work could use, within its limits."""
    wanted = at(cluster, ("metadata", "annotations", WANTED_WORKERS_ANNOTATION), "")
    may = get(cluster, "spec.enableInTreeAutoscaling", False) and get(cluster, "status.state") == "ready"
    if not may or not str(wanted).isdigit():
        return []
    groups = [_scaled(group, int(wanted)) for group in get(cluster, "spec.workerGroupSpecs", [])]
    after: Document = put(cluster, ("spec", "workerGroupSpecs"), groups)
    return [] if after == cluster else [(RAY_CLUSTERS, cluster, after)]


def _scaled(group: Document, wanted: int) -> Document:
    least, most = get(group, "minReplicas", 0), get(group, "maxReplicas", UNLIMITED)
    return {**group, "replicas": max(least, min(wanted, most))}


def _inherited(owner: Document) -> dict[str, dict[str, str]]:
    """The cluster of a job or a service has its labels and annotations."""
    metadata = owner["metadata"]
    found = {part: dict(metadata.get(part) or {}) for part in ("labels", "annotations")}
    return {part: value for part, value in found.items() if value}


def _cluster_pods(cluster: Document) -> dict[str, Document]:
    name = cluster["metadata"]["name"]
    head_labels = {CLUSTER_LABEL: name, TYPE_LABEL: "head", GROUP_LABEL: "headgroup"}
    found = {f"{name}-head": pod(cluster, f"{name}-head", get(cluster, "spec.headGroupSpec.template", {}), head_labels)}
    for group in get(cluster, "spec.workerGroupSpecs", []):
        labels = {CLUSTER_LABEL: name, TYPE_LABEL: "worker", GROUP_LABEL: group["groupName"]}
        for index in range(worker_count(group)):
            pod_name = f"{name}-{group['groupName']}-{index}"
            found[pod_name] = pod(cluster, pod_name, group["template"], labels)
    return found


def decide_job(job: Document, children: Children, now: datetime) -> Plan:
    """The cluster first; once it is ready the job runs, and at its end the cluster goes."""
    clusters, jobs = children[RAY_CLUSTERS], children[JOBS]
    status = dict(job.get("status") or {})
    deployment = status.get("jobDeploymentStatus", "")
    if deployment in ("Complete", "Failed"):
        shut = get(job, "spec.shutdownAfterJobFinishes", False)
        return Plan(delete=settled({}, clusters, RAY_CLUSTERS)[1] if shut else ())
    if get(job, "spec.suspend", False):
        gone = [*settled({}, clusters, RAY_CLUSTERS)[1], *settled({}, jobs, JOBS)[1]]
        suspended = {"jobDeploymentStatus": "Suspended", "jobStatus": "", "rayClusterStatus": None, "startTime": None}
        return Plan(delete=gone, status=_told(status | suspended))
    return _running(job, clusters, jobs, now)


def _running(job: Document, clusters: Sequence[Document], jobs: Sequence[Document], now: datetime) -> Plan:
    name = f"{job['metadata']['name']}-cluster"
    status = dict(job.get("status") or {})
    cluster = next((each for each in clusters if each["metadata"]["name"] == name), None)
    if cluster is None:
        made = child(job, RAY_CLUSTERS, name, **_inherited(job), spec=get(job, "spec.rayClusterSpec", {}))
        told = {"jobDeploymentStatus": "Initializing", "rayClusterName": name, "startTime": rfc3339(now)}
        return Plan(create=[(RAY_CLUSTERS, made)], status=_told(status | told))
    status["rayClusterStatus"] = cluster.get("status") or {}
    if get(cluster, "status.state") != "ready":
        return Plan(status=_told(status | {"jobDeploymentStatus": status.get("jobDeploymentStatus") or "Initializing"}))
    begun = status.setdefault("runningSince", rfc3339(now))
    status |= {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
    if get(job, "spec.submissionMode", "K8sJobMode") == "K8sJobMode":
        return _submitted(job, jobs, status, now)
    left = (parse(begun) + timedelta(seconds=_run_seconds(job)) - now).total_seconds()
    if left > 0:
        return Plan(status=_told(status), look_again=left)
    return Plan(status=_told(_ended(status, True, now)))


def _submitted(job: Document, jobs: Sequence[Document], status: Document, now: datetime) -> Plan:
    if not jobs:
        kind = RayJob()
        (spot,) = [each for each in kind.templates(job) if each.path == SUBMITTER_TEMPLATE]
        template = at(job, SUBMITTER_TEMPLATE) or kind.pod_template(job, spot)
        template = {**template, "spec": {"restartPolicy": "Never", **(template.get("spec") or {})}}
        spec = {"template": template, "backoffLimit": get(job, "spec.submitterConfig.backoffLimit", 2)}
        return Plan(create=[(JOBS, child(job, JOBS, job["metadata"]["name"], spec=spec))], status=_told(status))
    if condition(jobs[0], "Complete") == "True" or condition(jobs[0], "Failed") == "True":
        status = _ended(status, condition(jobs[0], "Complete") == "True", now)
    return Plan(status=_told(status))


def _ended(status: Document, success: bool, now: datetime) -> Document:
    deployment = "Complete" if success else "Failed"
    told = {"jobDeploymentStatus": deployment, "jobStatus": "SUCCEEDED" if success else "FAILED"}
    return {**status, **told, "message": "Job finished successfully." if success else "", "endTime": rfc3339(now)}


def _told(status: Document) -> Document:
    return {name: value for name, value in status.items() if value not in (None, "")}


def _run_seconds(job: Document) -> float:
    annotations = get(job, "spec.rayClusterSpec.headGroupSpec.template.metadata.annotations", {})
    try:
        return float(annotations.get(RUN_SECONDS, DEFAULT_RUN_SECONDS))
    except ValueError:
        return DEFAULT_RUN_SECONDS


def decide_service(service: Document, children: Children, now: datetime) -> Plan:
    clusters = children[RAY_CLUSTERS]
    name = f"{service['metadata']['name']}-cluster"
    if get(service, "spec.rayClusterConfig.suspend", False):
        told = {"Ready": (False, "Suspended", "")}
        gone = settled({}, clusters, RAY_CLUSTERS)[1]
        return Plan(delete=gone, status={"conditions": with_conditions(service, told, now)})
    spec = {**get(service, "spec.rayClusterConfig", {}), "suspend": False}
    missing, extra = settled(
        {name: child(service, RAY_CLUSTERS, name, **_inherited(service), spec=spec)}, clusters, RAY_CLUSTERS
    )
    ready = any(get(each, "status.state") == "ready" for each in clusters)
    told = {"Ready": (ready, "NonZeroServeEndpoints" if ready else "Initializing", "")}
    active = {"rayClusterName": name, "rayClusterStatus": clusters[0].get("status") or {}} if clusters else {}
    status = {"conditions": with_conditions(service, told, now), "activeServiceStatus": active}
    return Plan(create=missing, delete=extra, status={**status, "numServeEndpoints": int(ready)})


OPERATORS: Final = (
    Kind(RAY_CLUSTERS, (PODS,), decide_cluster),
    Kind(RAY_JOBS, (RAY_CLUSTERS, JOBS), decide_job),
    Kind(RAY_SERVICES, (RAY_CLUSTERS,), decide_service),
)

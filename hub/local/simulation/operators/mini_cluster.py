"""flux-framework.org/v1alpha2 MiniCluster: an indexed Job, and a pod for the services (Flux operator).

As the real one does, it looks away from a cluster of size 0, whatever it made before, and says no more in the status
than that all has been made.
"""

from datetime import datetime
from typing import Final

from hub.local.simulation.operators.plan import Children, Kind, Plan, child, named, pod, with_conditions
from worker_agent.api.document import Document, get
from worker_agent.api.resource_type import JOBS, MINI_CLUSTERS, PODS
from worker_agent.jobs import mini_cluster_pods
from worker_agent.jobs.mini_cluster import services_pod

DEADLINE_SECONDS: Final = 31500000
BACKOFF_LIMIT: Final = 100
_STATES: Final = ("JobRequested", "JobWaitingForResources", "JobRunning", "JobMiniClusterReady", "JobFinished")


def decide(cluster: Document, children: Children, now: datetime) -> Plan:
    size, name = get(cluster, "spec.size", 1), cluster["metadata"]["name"]
    if size == 0:
        return Plan()
    most = max(get(cluster, "spec.maxSize", 0), get(cluster, "status.maximumSize", 0) or size)
    create = []
    job = named(children[JOBS]).get(name)
    if job is None:
        create.append((JOBS, _job(cluster, size)))
    services = services_pod(name)
    if get(cluster, "spec.services", []) and services not in named(children[PODS]):
        create.append((PODS, pod(cluster, services, mini_cluster_pods.services_template(cluster), _labels(cluster))))
    change = []
    if job is not None and size <= most and get(job, "spec.parallelism", 1) != size:
        change.append((JOBS, job, {**job, "spec": {**job["spec"], "parallelism": size, "completions": size}}))
    told = {state: (state == "JobMiniClusterReady" and job is not None, state, state) for state in _STATES}
    told["JobRequested"] = (job is None, "JobRequested", "JobRequested")
    status = {
        "jobid": "",
        "maximumSize": most,
        "size": size,
        "selector": f"hpa-selector={name}",
        "conditions": with_conditions(cluster, told, now),
    }
    return Plan(create=create, change=change, status=status)


def _job(cluster: Document, size: int) -> Document:
    template = mini_cluster_pods.cluster_template(cluster)
    metadata = template["metadata"]
    labels = {**(metadata.get("labels") or {}), **_labels(cluster), "hpa-selector": cluster["metadata"]["name"]}
    spec = {
        "backoffLimit": get(cluster, "spec.backoffLimit", BACKOFF_LIMIT) or BACKOFF_LIMIT,
        "completions": size,
        "parallelism": size,
        "completionMode": "Indexed",
        "activeDeadlineSeconds": get(cluster, "spec.deadlineSeconds", DEADLINE_SECONDS),
        "template": {**template, "metadata": {**metadata, "labels": labels}},
    }
    return child(cluster, JOBS, cluster["metadata"]["name"], labels=dict(get(cluster, "spec.jobLabels", {})), spec=spec)


def _labels(cluster: Document) -> dict[str, str]:
    metadata = cluster["metadata"]
    return {"namespace": metadata["namespace"], "app": "flux-operator", "app.kubernetes.io/name": metadata["name"]}


OPERATOR: Final = Kind(MINI_CLUSTERS, (JOBS, PODS), decide)

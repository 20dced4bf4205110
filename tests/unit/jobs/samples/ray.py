"""The kinds of Ray: a cluster by itself, for a job, and for a service."""

from worker_agent.api.document import Document

from .sample import Sample, metadata, template


def _cluster() -> Document:
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": template()},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "rayStartParams": {}, "template": template()}],
    }


def _job(kind: str, spec: Document) -> Document:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata("train"), "spec": spec}


RAY_CLUSTER = Sample(
    job=_job("RayCluster", {"suspend": True, "jobFieldOfTheFuture": [1, 2], **_cluster()}),
    running={"state": "ready"},
    ready={"state": "ready", "readyWorkerReplicas": 2},
)
RAY_JOB = Sample(
    job=_job(
        "RayJob",
        {
            "suspend": True,
            "entrypoint": "python train.py",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": _cluster(),
            "jobFieldOfTheFuture": [1, 2],
        },
    ),
    running={"jobDeploymentStatus": "Initializing", "jobId": "1"},
    ready={"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "ready"}},
    succeeded={"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "done"},
    failed={"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": "broken"},
)
RAY_SERVICE = Sample(
    job=_job(
        "RayService",
        {"serveConfigV2": "x", "rayClusterConfig": {"suspend": True, **_cluster()}, "jobFieldOfTheFuture": [1, 2]},
    ),
    running={"conditions": [{"type": "Ready", "status": "True"}]},
    ready={"conditions": [{"type": "Ready", "status": "True"}], "numServeEndpoints": 2},
)

"""jobset.x-k8s.io/v1alpha2 JobSet."""

from worker_agent.api.document import Document

from .sample import Sample, metadata, template


def _replicated(name: str, replicas: int, pods: int) -> Document:
    job = {"parallelism": pods, "completions": pods, "template": template()}
    return {"name": name, "replicas": replicas, "template": {"metadata": {"labels": {"part": name}}, "spec": job}}


def _status(**counts: int) -> Document:
    return {"restarts": 0, "replicatedJobsStatus": [{"name": name, **counts} for name in ("leader", "workers")]}


JOB_SET = Sample(
    job={
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata("train"),
        "spec": {
            "suspend": True,
            "network": {"enableDNSHostnames": True},
            "replicatedJobs": [_replicated("leader", 1, 1), _replicated("workers", 1, 4)],
            "jobFieldOfTheFuture": [1, 2],
        },
    },
    running=_status(active=1, ready=0, succeeded=0),
    ready=_status(active=1, ready=1, succeeded=0),
    succeeded={
        **_status(active=0, succeeded=1),
        "conditions": [{"type": "Completed", "status": "True", "message": "done"}],
    },
    failed={**_status(failed=1), "conditions": [{"type": "Failed", "status": "True", "message": "broken"}]},
)

"""One job of each served kind as a user would write it, with fields that nobody here knows. A new kind adds its own."""

from dataclasses import dataclass

from worker_agent.api import names
from worker_agent.api.document import Document


@dataclass(frozen=True)
class Sample:
    """``running``, ``ready`` and the two ends are statuses as the kind's own controller writes them."""

    job: Document
    running: Document
    ready: Document
    succeeded: Document
    failed: Document


def _metadata(name: str) -> Document:
    return {
        "name": name,
        "namespace": "ns",
        "uid": f"{name}-uid",
        "generation": 1,
        "resourceVersion": "5",
        "labels": {names.QUEUE_NAME_LABEL: "main-queue", "team": "vision"},
        "annotations": {"example.com/note": "by its user"},
        "finalizers": ["example.com/keep"],
    }


def _template() -> Document:
    return {
        "metadata": {"labels": {"app": "train"}, "annotations": {"example.com/pod": "yes"}},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "train:1",
                    "resources": {"requests": {"cpu": "500m"}},
                    "fieldOfTheFuture": {"a": [1]},
                }
            ],
            "nodeSelector": {"arch": "amd64"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {"fieldOfTheFuture": True}},
            "restartPolicy": "Never",
            "specFieldOfTheFuture": "x",
        },
    }


SAMPLES: dict[str, Sample] = {
    "batch/job": Sample(
        job={
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": _metadata("train"),
            "spec": {
                "parallelism": 3,
                "completions": 3,
                "completionMode": "Indexed",
                "suspend": True,
                "template": _template(),
                "jobFieldOfTheFuture": [1, 2],
            },
        },
        running={"active": 3, "startTime": "2026-01-01T00:00:00Z"},
        ready={"active": 3, "ready": 3, "startTime": "2026-01-01T00:00:00Z"},
        succeeded={"succeeded": 3, "conditions": [{"type": "Complete", "status": "True", "message": "done"}]},
        failed={"failed": 1, "conditions": [{"type": "Failed", "status": "True", "message": "broken"}]},
    )
}
"""By framework name."""

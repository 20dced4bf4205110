"""batch/v1 Job."""

from .sample import Sample, metadata, template

JOB = Sample(
    job={
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata("train"),
        "spec": {
            "parallelism": 3,
            "completions": 3,
            "completionMode": "Indexed",
            "suspend": True,
            "template": template(),
            "jobFieldOfTheFuture": [1, 2],
        },
    },
    running={"active": 3, "startTime": "2026-01-01T00:00:00Z"},
    ready={"active": 3, "ready": 3, "startTime": "2026-01-01T00:00:00Z"},
    succeeded={"succeeded": 3, "conditions": [{"type": "Complete", "status": "True", "message": "done"}]},
    failed={"failed": 1, "conditions": [{"type": "Failed", "status": "True", "message": "broken"}]},
)

"""What a sample is, and the parts that samples share."""

from dataclasses import dataclass

from worker_agent.api import names
from worker_agent.api.document import Document


@dataclass(frozen=True)
class Sample:
    """``running``, ``ready`` and the two ends are statuses as the kind's own controller writes them.

    A kind that serves until it is deleted has no ends. ``companion`` is the one object its pods follow from, if any.
    The statuses are those of ``child`` where the kind's own controller tells how the job fares by that alone.
    """

    job: Document
    running: Document
    ready: Document
    succeeded: Document | None = None
    failed: Document | None = None
    companion: Document | None = None
    child: Document | None = None


def metadata(name: str) -> Document:
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


def template() -> Document:
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

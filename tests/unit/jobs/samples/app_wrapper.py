"""workload.codeflare.dev/v1beta2 AppWrapper."""

from worker_agent.api.document import Document

from .sample import Sample, metadata, template


def _conditions(*types: str) -> list[Document]:
    return [{"type": type_, "status": "True"} for type_ in types]


def _job() -> Document:
    spec = {"parallelism": 2, "template": template()}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "inner"}, "spec": spec}


def _deployment() -> Document:
    spec = {"replicas": 3, "template": template()}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


APP_WRAPPER = Sample(
    job={
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": metadata("train"),
        "spec": {
            "suspend": True,
            "components": [
                {"template": _job()},
                {"podSets": [{"path": "template.spec.template", "replicas": 3}], "template": _deployment()},
            ],
        },
    },
    running={"phase": "Running", "conditions": _conditions("QuotaReserved", "ResourcesDeployed")},
    ready={"phase": "Running", "conditions": _conditions("QuotaReserved", "ResourcesDeployed", "PodsReady")},
    succeeded={"phase": "Succeeded", "conditions": []},
    failed={"phase": "Failed", "conditions": []},
)

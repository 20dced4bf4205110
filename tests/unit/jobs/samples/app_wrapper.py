"""workload.codeflare.dev/v1beta2 AppWrapper."""

from worker_agent.api.document import Document

from .sample import Sample, metadata, template


def _conditions(*types: str) -> list[Document]:
    return [{"type": type_, "status": "True"} for type_ in types]


def _job(name: str, pods: int) -> Document:
    spec = {"parallelism": pods, "completions": pods, "template": template()}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


APP_WRAPPER = Sample(
    job={
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": metadata("train"),
        "spec": {
            "suspend": True,
            "components": [
                {"template": _job("inner", 2)},
                {"podSets": [{"path": "template.spec.template", "replicas": 3}], "template": _job("declared", 3)},
            ],
        },
    },
    running={"phase": "Running", "conditions": _conditions("QuotaReserved", "ResourcesDeployed")},
    ready={"phase": "Running", "conditions": _conditions("QuotaReserved", "ResourcesDeployed", "PodsReady")},
    succeeded={"phase": "Succeeded", "conditions": []},
    failed={"phase": "Failed", "conditions": []},
)

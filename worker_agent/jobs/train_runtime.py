"""The JobSet that the trainer makes of a TrainJob and its runtime, as far as pods follow from it (spec/jobs 9.5)."""

from collections.abc import Iterable
from typing import Any, Final

from worker_agent.api.document import Document, at, get, put

STEP_LABEL: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_INITIALIZERS: Final = {"dataset-initializer": "dataset", "model-initializer": "model"}
_CONTAINER: Final = {"trainer": "node", **{step: step for step in _INITIALIZERS}}
"""The container of each step's pods that the job's own settings are for."""
POD_SPEC: Final = ("template", "spec", "template", "spec")


def replicated_jobs(job: Document, runtime: Document) -> list[Document]:
    """The runtime's replicated jobs with the job's trainer, initializers and runtime patches worked in."""
    rendered = [_step(job, runtime, each) for each in get(runtime, "spec.template.spec.replicatedJobs", [])]
    for patch in get(job, "spec.runtimePatches", []):
        rendered = _merged_by_name(rendered, get(patch, "trainingRuntimeSpec.template.spec.replicatedJobs", []))
    return rendered


def _step(job: Document, runtime: Document, each: Document) -> Document:
    step = at(each, ("template", "metadata", "labels"), {}).get(STEP_LABEL, "")
    if step == "trainer":
        return _trainer(each, get(job, "spec.trainer", {}), get(runtime, "spec.mlPolicy.numNodes"))
    if step in _INITIALIZERS:
        settings = at(job, ("spec", "initializer", _INITIALIZERS[step]), {})
        return _with_container(each, step, {"env": settings.get("env")})
    return each


def _trainer(each: Document, trainer: Document, default_nodes: int | None) -> Document:
    nodes = trainer.get("numNodes") or default_nodes
    if nodes is not None:
        each = put(put(each, ("template", "spec", "parallelism"), nodes), ("template", "spec", "completions"), nodes)
    fields = {
        "image": trainer.get("image"),
        "command": trainer.get("command"),
        "args": trainer.get("args"),
        "env": trainer.get("env"),
        "resources": trainer.get("resourcesPerNode"),
    }
    return _with_container(each, "trainer", fields)


def _with_container(each: Document, step: str, fields: Document) -> Document:
    """The step's container with the fields that are given; a pod of one container needs no particular name."""
    containers = at(each, (*POD_SPEC, "containers"), [])
    place = next((n for n, c in enumerate(containers) if c.get("name") == _CONTAINER[step]), None)
    if place is None and len(containers) == 1:
        place = 0
    given = {name: value for name, value in fields.items() if value}
    if place is None or not given:
        return each
    if "env" in given:
        given["env"] = _merged_by_name(containers[place].get("env") or [], given["env"])
    document: Document = put(each, (*POD_SPEC, "containers", place), {**containers[place], **given})
    return document


def merged(base: Any, patch: Any) -> Any:
    """``patch`` worked into ``base``: objects field by field, lists of named things by name, the rest replaced."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{name: merged(base.get(name), value) for name, value in patch.items()}}
    if isinstance(base, list) and isinstance(patch, list) and _all_named(base) and _all_named(patch):
        return _merged_by_name(base, patch)
    return patch


def _all_named(items: Iterable[Any]) -> bool:
    return all(isinstance(item, dict) and "name" in item for item in items)


def _merged_by_name(base: list[Document], patch: list[Document]) -> list[Document]:
    result = {item["name"]: item for item in base}
    for item in patch:
        result[item["name"]] = merged(result.get(item["name"]), item)
    return list(result.values())

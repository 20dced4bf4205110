"""What the Spark operator makes of a role, and the part of it that placement changes (spec/jobs 9.14)."""

from collections.abc import Sequence
from typing import Final

from worker_agent.api.document import Document, at, put

_JAVA_UNITS: Final = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti", "p": "Pi"}
_KUBERNETES_UNITS: Final = tuple(_JAVA_UNITS.values())
_COPIED: Final = {
    "priorityClassName": "priorityClassName",
    "nodeSelector": "nodeSelector",
    "affinity": "affinity",
    "tolerations": "tolerations",
    "initContainers": "initContainers",
}
GATES: Final = ("spec", "schedulingGates")


def container_name(role: str) -> str:
    return f"spark-kubernetes-{role}"


def pod_template(name: str, role: Document, volumes: Sequence[Document]) -> Document:
    """The pod template of a role; of the user's own template only the metadata counts."""
    mounts = role.get("volumeMounts") or []
    container: Document = {"name": container_name(name), "resources": _resources(role)}
    if mounts:
        container["volumeMounts"] = mounts
    spec: Document = {"containers": [container, *(role.get("sidecars") or ())]}
    mounted = {mount["name"] for mount in mounts}
    if used := [volume for volume in volumes if volume["name"] in mounted]:
        spec["volumes"] = used
    spec |= {ours: role[theirs] for theirs, ours in _COPIED.items() if role.get(theirs)}
    if gates := at(role, ("template", *GATES)):
        spec["schedulingGates"] = gates
    return {"metadata": _metadata(role), "spec": spec}


def _metadata(role: Document) -> Document:
    metadata: Document = dict(at(role, ("template", "metadata"), {}))
    for field in ("labels", "annotations"):
        if role.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **role[field]}
    return metadata


def _resources(role: Document) -> Document:
    requests = {"cpu": role.get("coreRequest"), "memory": memory(role.get("memory"))}
    limits = {"cpu": role.get("coreLimit"), "memory": memory(role.get("memoryLimit"))}
    if gpu := role.get("gpu"):
        limits[gpu["name"]] = str(gpu["quantity"])
    found = {"requests": requests, "limits": limits}
    given = {name: {key: value for key, value in amounts.items() if value} for name, amounts in found.items()}
    return {name: amounts for name, amounts in given.items() if amounts}


def memory(text: str | None) -> str | None:
    """Java's ``512m`` or ``1gb`` as Kubernetes writes it; what is written so already stays."""
    if not text or text.endswith(_KUBERNETES_UNITS):
        return text
    digits = text.rstrip("bBkKmMgGtTpP")
    unit = text[len(digits) :].lower().removesuffix("b")
    return digits + _JAVA_UNITS.get(unit, "")


def placement(role: Document) -> Document:
    """The fields of a role that an admission changes, as a pod template."""
    template: Document = {
        "metadata": {"annotations": role.get("annotations"), "labels": role.get("labels")},
        "spec": {"nodeSelector": role.get("nodeSelector"), "tolerations": role.get("tolerations")},
    }
    gates = at(role, ("template", *GATES))
    document: Document = put(template, GATES, gates) if gates else template
    return document


def placed(name: str, role: Document, template: Document) -> Document:
    """The role with those fields as ``template`` has them; its own template is made where there is none."""
    fields = {
        "annotations": at(template, ("metadata", "annotations")),
        "labels": at(template, ("metadata", "labels")),
        "nodeSelector": at(template, ("spec", "nodeSelector")),
        "tolerations": at(template, ("spec", "tolerations")),
    }
    for field, value in fields.items():
        role = put(role, (field,), value or None)
    own = role.get("template") or {"spec": {"containers": [{"name": container_name(name)}]}}
    return {**role, "template": put(own, GATES, at(template, GATES))}

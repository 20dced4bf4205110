"""A wrapped pod template as AppWrapper hands it on: a reduced copy, with the API server's defaults filled in.

The components are embedded objects that no API server has completed, while the Workload is one; without the defaults
the two would never be equal (spec/jobs 9.9).
"""

from typing import Any, Final

from worker_agent.api.document import Document

_METADATA: Final = ("labels", "annotations")
_SPEC: Final = (
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "priorityClassName",
    "overhead",
    "topologySpreadConstraints",
)
_POD_DEFAULTS: Final[Document] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER_DEFAULTS: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_GRACE: Final = "terminationGracePeriodSeconds"


def reduced(template: Document) -> Document:
    """The copy of a pod template or of a whole pod, which is read alike."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    copied: Document = {name: spec[name] for name in _SPEC if spec.get(name)}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            copied[field] = [_container(each) for each in spec[field]]
    copied |= {name: spec.get(name) or value for name, value in _POD_DEFAULTS.items()}
    if spec.get(_GRACE) is None:
        copied[_GRACE] = 30
    return {"metadata": {name: metadata[name] for name in _METADATA if metadata.get(name)}, "spec": copied}


def _container(container: Document) -> Document:
    completed = {**_CONTAINER_DEFAULTS, **container}
    completed.setdefault("imagePullPolicy", pull_policy(container.get("image", "")))
    if container.get("ports"):
        completed["ports"] = [{"protocol": "TCP", **port} for port in container["ports"]]
    for name in _PROBES:
        if container.get(name):
            completed[name] = _probe(container[name])
    return completed


def _probe(probe: Document) -> Document:
    completed: Document = {**_PROBE_DEFAULTS, **probe}
    defaults: dict[str, Any] = {"httpGet": {"path": "/", "scheme": "HTTP"}, "grpc": {"service": ""}}
    for handler, fields in defaults.items():
        if probe.get(handler):
            completed[handler] = {**fields, **probe[handler]}
    return completed


def pull_policy(image: str) -> str:
    """Always for the tag ``latest``, which an image without a tag or digest has too."""
    if not image or "@" in image:
        return "IfNotPresent"
    name = image.rpartition("/")[2]
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"

"""Work of others as the hub may see it: what it asks for and where it may run, but not what it does. Pure.

The hub judges a cluster by all Workloads in it. Commands, environments and volumes of those it did not send are none of
its business, and may hold secrets; so may annotations, where kubectl keeps whole manifests.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from worker_agent.api.document import Document

POD_FIELDS: Final = frozenset(
    {
        "affinity",
        "hostNetwork",
        "nodeName",
        "nodeSelector",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
    }
)
CONTAINER_LISTS: Final = ("containers", "initContainers")
CONTAINER_FIELDS: Final = frozenset({"name", "image", "ports", "resources", "restartPolicy"})
OWN_ANNOTATIONS: Final = ("kueue.x-k8s.io/", "fedhub.dev/")


def workload(document: Document) -> Document:
    """A Workload of somebody else, without what runs in it."""
    spec = dict(_mapping(document.get("spec")))
    if isinstance(spec.get("podSets"), list):
        spec["podSets"] = [_pod_set(each) for each in spec["podSets"] if isinstance(each, dict)]
    return {**document, "metadata": _metadata(document.get("metadata")), "spec": spec}


def _pod_set(pod_set: Document) -> Document:
    template = _mapping(pod_set.get("template"))
    shown = {"metadata": _metadata(template.get("metadata")), "spec": _pod_spec(_mapping(template.get("spec")))}
    return {**pod_set, "template": shown}


def _pod_spec(spec: Mapping[str, Any]) -> Document:
    shown: Document = {name: value for name, value in spec.items() if name in POD_FIELDS}
    for name in CONTAINER_LISTS:
        if isinstance(spec.get(name), list):
            shown[name] = [_container(each) for each in spec[name] if isinstance(each, dict)]
    return shown


def _container(container: Document) -> Document:
    return {name: value for name, value in container.items() if name in CONTAINER_FIELDS}


def _metadata(metadata: Any) -> Document:
    found = dict(_mapping(metadata))
    found.pop("managedFields", None)
    if isinstance(found.get("annotations"), dict):
        found["annotations"] = dict(_own(found["annotations"].items()))
    return found


def _own(annotations: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    return ((name, value) for name, value in annotations if name.startswith(OWN_ANNOTATIONS))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

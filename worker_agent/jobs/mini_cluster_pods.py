"""The pods that the Flux operator makes of a MiniCluster: the cluster's own, and one for its services.

Only what decides about room and place is worked out; scripts, mounts and commands are the operator's.
"""

from collections.abc import Iterator
from typing import Final

from worker_agent.api.document import Document, get

VIEW: Final = {"name": "flux-view", "image": "ghcr.io/converged-computing/flux-view-rocky:tag-9"}
"""The container that brings Flux along, where the user names no other."""
_AS_WRITTEN: Final = (
    "nodeSelector",
    "tolerations",
    "serviceAccountName",
    "schedulerName",
    "runtimeClassName",
    "dnsPolicy",
    "restartPolicy",
)
_OF_SERVICES: Final = tuple(field for field in _AS_WRITTEN if field not in ("tolerations", "schedulerName"))
"""The operator gives the pod of the services neither the tolerations nor the scheduler of the others."""


def cluster_template(job: Document) -> Document:
    """A pod of the cluster: Flux is brought by a container that runs first."""
    wanted = get(job, "spec.pod", {})
    view = get(job, "spec.flux.container", {})
    spec = _spec(wanted, _AS_WRITTEN)
    spec["initContainers"] = [_container({**VIEW, **view}, str(view.get("name") or VIEW["name"]))]
    spec["containers"] = list(_containers(job))
    if wanted.get("resources"):
        spec["overhead"] = wanted["resources"]
    if affinity := _node_affinity(job):
        spec["affinity"] = affinity
    return {"metadata": _metadata(wanted), "spec": spec}


def services_template(job: Document) -> Document:
    """The one pod that all services share."""
    wanted = get(job, "spec.pod", {})
    spec = _spec(wanted, _OF_SERVICES)
    services = get(job, "spec.services", [])
    spec["containers"] = [_container(each, str(each.get("name", ""))) for each in services]
    return {"metadata": _metadata(wanted), "spec": spec}


def _spec(wanted: Document, fields: tuple[str, ...]) -> Document:
    return {"restartPolicy": "OnFailure", **{field: wanted[field] for field in fields if wanted.get(field)}}


def _metadata(wanted: Document) -> Document:
    return {field: wanted[field] for field in ("labels", "annotations") if wanted.get(field)}


def _containers(job: Document) -> Iterator[Document]:
    """The container that runs Flux bears the cluster's name; a container that is alone runs it."""
    containers = get(job, "spec.containers", [])
    for each in containers:
        runs_flux = each.get("runFlux") or len(containers) == 1
        yield _container(each, job["metadata"]["name"] if runs_flux else str(each.get("name", "")))


def _container(wanted: Document, name: str) -> Document:
    found: Document = {"name": name}
    for field in ("image", "resources"):
        if wanted.get(field):
            found[field] = wanted[field]
    if ports := wanted.get("ports"):
        found["ports"] = [{"containerPort": port, "protocol": "TCP"} for port in ports]
    if environment := wanted.get("environment"):
        found["env"] = [{"name": key, "value": environment[key]} for key in sorted(environment)]
    return found


def _node_affinity(job: Document) -> Document:
    labels = get(job, "spec.pod.nodeAffinity", {})
    if not labels or get(job, "spec.network.disableAffinity", False):
        return {}
    required = [{"key": label, "operator": "In", "values": list(labels[label])} for label in sorted(labels)]
    terms = {"nodeSelectorTerms": [{"matchExpressions": required}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

"""Defaults the real server sets in code, type by type, wherever a type stands in an object.

Source: kubernetes pkg/apis/*/v1/defaults.go. A setter gets a fresh dict of its own type and changes it; children are
done after their parents.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from hub.local.apiserver.schema import defaulting
from hub.local.apiserver.schema.node import Node
from worker_agent.api import openapi_data

Setter = Callable[[dict[str, Any]], None]
CORE: Final = "io.k8s.api.core.v1."
BATCH: Final = "io.k8s.api.batch.v1."
APPS: Final = "io.k8s.api.apps.v1."
RBAC: Final = "io.k8s.api.rbac.v1."
ADMISSION: Final = "io.k8s.api.admissionregistration.v1."

CONTAINER: Final = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
VALIDATING_WEBHOOK: Final = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}

WHERE_ABSENT: Final[dict[str, dict[str, Any]]] = {
    f"{CORE}Container": CONTAINER,
    f"{CORE}EphemeralContainer": CONTAINER,
    f"{CORE}Probe": PROBE,
    f"{CORE}ContainerPort": {"protocol": "TCP"},
    f"{CORE}ServicePort": {"protocol": "TCP"},
    f"{CORE}EndpointPort": {"protocol": "TCP"},
    f"{CORE}HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    f"{CORE}PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    f"{CORE}SecretVolumeSource": {"defaultMode": 420},
    f"{CORE}ConfigMapVolumeSource": {"defaultMode": 420},
    f"{CORE}DownwardAPIVolumeSource": {"defaultMode": 420},
    f"{CORE}ProjectedVolumeSource": {"defaultMode": 420},
    f"{CORE}ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    f"{CORE}HostPathVolumeSource": {"type": ""},
    f"{CORE}ISCSIVolumeSource": {"iscsiInterface": "default"},
    f"{CORE}RBDVolumeSource": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    f"{CORE}AzureDiskVolumeSource": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False},
    f"{CORE}ScaleIOVolumeSource": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    f"{CORE}ObjectFieldSelector": {"apiVersion": "v1"},
    f"{CORE}Secret": {"type": "Opaque"},
    f"{CORE}PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    f"{CORE}PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    f"{CORE}PersistentVolumeClaimStatus": {"phase": "Pending"},
    f"{CORE}PersistentVolumeStatus": {"phase": "Pending"},
    f"{CORE}NamespaceStatus": {"phase": "Active"},
    f"{CORE}ReplicationControllerSpec": {"replicas": 1},
    f"{BATCH}CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    f"{BATCH}PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    f"{APPS}DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    f"{APPS}ReplicaSetSpec": {"replicas": 1},
    f"{APPS}DaemonSetSpec": {"revisionHistoryLimit": 10},
    f"{APPS}StatefulSetSpec": {
        "podManagementPolicy": "OrderedReady",
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {},
    },
    f"{APPS}StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    f"{RBAC}RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    f"{ADMISSION}ValidatingWebhook": VALIDATING_WEBHOOK,
    f"{ADMISSION}MutatingWebhook": {**VALIDATING_WEBHOOK, "reinvocationPolicy": "Never"},
    f"{ADMISSION}RuleWithOperations": {"scope": "*"},
    f"{ADMISSION}ServiceReference": {"port": 443},
    f"{ADMISSION}ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    f"{ADMISSION}MatchResources": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}},
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference": {"port": 443},
    "io.k8s.api.scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "io.k8s.api.storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}


def _pull_policy(container: dict[str, Any]) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))


def pull_policy(image: str) -> str:
    """``Always`` for an image tagged latest or not at all, ``IfNotPresent`` for any other tag and for a digest."""
    name = image.rpartition("/")[2]
    if not image or not re.fullmatch(r"[\w./:@+-]+", image):
        return "IfNotPresent"
    if "@" in name:
        return "Always" if name.partition("@")[0].endswith(":latest") else "IfNotPresent"
    _, colon, tag = name.partition(":")
    return "Always" if not colon or tag == "latest" else "IfNotPresent"


def _volume(volume: dict[str, Any]) -> None:
    if not any(value is not None for key, value in volume.items() if key != "name"):
        volume["emptyDir"] = {}


def _job_spec(spec: dict[str, Any]) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    per_index = spec.get("backoffLimitPerIndex") is not None
    absent: dict[str, Any] = {
        "parallelism": 1,
        "backoffLimit": 2**31 - 1 if per_index else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed",
        "manualSelector": False,
    }
    for field, value in absent.items():
        if spec.get(field) is None:
            spec[field] = value


def _rolling_update(spec: dict[str, Any], field: str, values: dict[str, Any]) -> None:
    strategy = spec[field] = dict(spec.get(field) or {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy["rollingUpdate"] = {**values, **(strategy.get("rollingUpdate") or {})}


def _deployment(spec: dict[str, Any]) -> None:
    _rolling_update(spec, "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


def _daemon_set(spec: dict[str, Any]) -> None:
    _rolling_update(spec, "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


def _stateful_set(spec: dict[str, Any]) -> None:
    strategy = spec["updateStrategy"] = dict(spec.get("updateStrategy") or {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, **strategy["rollingUpdate"]}


def _service_spec(spec: dict[str, Any]) -> None:
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 10800}})
    spec["ports"] = [
        {**port, "targetPort": port.get("targetPort") or port.get("port", 0)} for port in spec.get("ports") or ()
    ]
    if not spec["ports"]:
        del spec["ports"]
    if kind in {"NodePort", "LoadBalancer"} or spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _node_status(status: dict[str, Any]) -> None:
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = status["capacity"]


def _subject(subject: dict[str, Any]) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in {"User", "Group"}:
        subject["apiGroup"] = "rbac.authorization.k8s.io"


def _limit_range_item(item: dict[str, Any]) -> None:
    if item.get("type") != "Container":
        return
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


def _pod(pod: dict[str, Any]) -> None:
    spec = pod["spec"] = dict(pod.get("spec") or {})
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_with_requests(container, spec.get("hostNetwork")) for container in spec[field]]
    spec.setdefault("enableServiceLinks", True)


def _with_requests(container: Any, host_network: Any) -> Any:
    """Requests a container does not state are its limits; on the host's network its ports are host ports."""
    if not isinstance(container, dict):
        return container
    resources = container.get("resources") or {}
    result = container
    if resources.get("limits"):
        requests = {**resources["limits"], **(resources.get("requests") or {})}
        result = {**result, "resources": {**resources, "requests": requests}}
    if host_network and container.get("ports"):
        ports = [{"hostPort": port.get("containerPort"), **port} for port in container["ports"]]
        result = {**result, "ports": ports}
    return result


def _job(job: dict[str, Any]) -> None:
    spec = job["spec"] = dict(job.get("spec") or {})
    _job_spec(spec)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    metadata = job.get("metadata") or {}
    if labels and not metadata.get("labels"):
        job["metadata"] = {**metadata, "labels": dict(labels)}


def _namespace(namespace: dict[str, Any]) -> None:
    metadata = namespace.get("metadata") or {}
    if metadata.get("name"):
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
        namespace["metadata"] = {**metadata, "labels": labels}


SETTERS: Final[dict[str, Setter]] = {
    f"{CORE}Container": _pull_policy,
    f"{CORE}EphemeralContainer": _pull_policy,
    f"{CORE}Volume": _volume,
    f"{CORE}ServiceSpec": _service_spec,
    f"{CORE}NodeStatus": _node_status,
    f"{CORE}LimitRangeItem": _limit_range_item,
    f"{CORE}Pod": _pod,
    f"{CORE}Namespace": _namespace,
    f"{BATCH}Job": _job,
    f"{APPS}DeploymentSpec": _deployment,
    f"{APPS}DaemonSetSpec": _daemon_set,
    f"{APPS}StatefulSetSpec": _stateful_set,
    f"{RBAC}Subject": _subject,
}


class _Own:
    """What defaulting does at one type: values where absent, and the setter. ``deep`` says that it, or a type below it,
    does anything at all."""

    __slots__ = ("absent", "deep", "pointers", "setter")

    def __init__(self, node: Node) -> None:
        self.absent = tuple(WHERE_ABSENT.get(node.name, {}).items())
        self.setter = SETTERS.get(node.name)
        go = openapi_data.load().go_fields.get(node.name, {}) if self.absent else {}
        self.pointers = frozenset(field for field, _ in self.absent if go.get(field, "").startswith("*"))
        self.deep = bool(self.absent) or self.setter is not None


def _own(node: Node) -> _Own:
    """What is done at a node, worked out once for it and all below it."""
    if node.own_defaults is None:
        _work_out(node, {})
    found: _Own = node.own_defaults
    return found


def _work_out(node: Node, open_nodes: dict[int, Node]) -> bool:
    """Whether anything is done at or below a node. A node that contains itself counts as one where something is."""
    if node.own_defaults is not None:
        return bool(node.own_defaults.deep)
    if id(node) in open_nodes:
        return True
    open_nodes[id(node)] = node
    own = _Own(node)
    below = [*node.fields.values(), *([node.element] if node.element is not None else [])]
    deep = [_work_out(child, open_nodes) for child in below if not child.free_form]
    own.deep = own.deep or any(deep)
    node.own_defaults = own
    del open_nodes[id(node)]
    return own.deep


def fill(value: Any, node: Node) -> Any:
    """``value`` with its types' defaults; the value given is not changed."""
    if isinstance(value, list):
        if node.element is None or node.type != "array":
            return value
        items = [fill(item, node.element) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    own = _own(node)
    if not own.deep:
        return value
    return _fill_map(_with_own_defaults(value, own), node)


def _with_own_defaults(value: dict[str, Any], own: _Own) -> dict[str, Any]:
    if not own.absent and own.setter is None:
        return value
    result = dict(value)
    for field, default in own.absent:
        held = result.get(field)
        # a zero that is no pointer cannot be told from an absent value
        if held is None or (held in ("", 0) and held is not False and field not in own.pointers):
            result[field] = defaulting.copied(default)
    if own.setter is not None:
        own.setter(result)
    return result if result != value else value


def _fill_map(value: dict[str, Any], node: Node) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    fields, element = node.fields, node.element
    for key, old in value.items():
        if not isinstance(old, (dict, list)):
            continue
        child = fields.get(key) or element
        if child is not None and not child.free_form:
            new = fill(old, child)
            if new is not old:
                changed[key] = new
    return {**value, **changed} if changed else value

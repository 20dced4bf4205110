"""Tables of the real server's own kinds: its columns (from the data file), the cells made here.

Source: kubernetes pkg/printers/internalversion/printers.go. Kinds without an entry show Name and Created At, as the
real server's default does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from hub.local.apiserver.schema import ages, custom_columns, pod_columns
from hub.local.apiserver.schema.custom_columns import Columns
from worker_agent.api import openapi_data, quantity, timestamps
from worker_agent.api.document import Document, get

Cells = Callable[[Document, datetime], list[Any]]
PRINTED_AS: Final = {
    "MutatingWebhookConfiguration": "MutatingWebhook",
    "ValidatingWebhookConfiguration": "ValidatingWebhook",
}
JOB_STATES: Final = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def of_kind(kind: str) -> Columns:
    """The columns of a built-in kind."""
    if kind == "APIService":
        return _api_service()
    cells = CELLS.get(kind)
    definitions = openapi_data.load().columns.get(PRINTED_AS.get(kind, kind))
    if cells is None or definitions is None:
        return _created_at()
    return Columns(definitions, cells)


def _created_at() -> Columns:
    created: Document = {
        "name": "Created At",
        "type": "date",
        "format": "",
        "description": custom_columns.metadata_text("creationTimestamp"),
        "priority": 0,
    }

    def cells(document: Document, _now: datetime) -> list[Any]:
        return [_name(document), document["metadata"].get("creationTimestamp")]

    return Columns([custom_columns.name_column(), created], cells)


def _api_service() -> Columns:
    """The aggregator's own table (kube-aggregator pkg/registry/apiservice/etcd)."""
    described = {
        "Service": "The reference to the service that hosts this API endpoint.",
        "Available": "Whether this service is available.",
        "Age": custom_columns.metadata_text("creationTimestamp"),
    }
    definitions: list[Document] = [
        {"name": name, "type": "string", "format": "", "description": text, "priority": 0}
        for name, text in described.items()
    ]
    return Columns([custom_columns.name_column(), *definitions], _api_service_cells)


def _api_service_cells(document: Document, now: datetime) -> list[Any]:
    service = get(document, "spec.service")
    place = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    conditions = get(document, "status.conditions", ())
    available = next((one for one in conditions if one.get("type") == "Available"), {"status": "Unknown"})
    text = available["status"]
    if text != "True" and available.get("reason"):
        text = f"{text} ({available['reason']})"
    return [_name(document), place, text, _age(document, now)]


def _name(document: Document) -> str:
    return str(document["metadata"].get("name", ""))


def _age(document: Document, now: datetime) -> str:
    return ages.since(document["metadata"].get("creationTimestamp"), now)


def _containers(document: Document, path: str) -> list[str]:
    containers = get(document, path, ())
    return [",".join(str(c.get(field, "")) for c in containers) for field in ("name", "image")]


def _labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else "<none>"


def _selector(selector: Mapping[str, Any] | None) -> str:
    """A label selector as text; ``<none>`` without requirements."""
    if selector is None:
        return "<none>"
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for requirement in selector.get("matchExpressions") or ():
        key, operator = requirement.get("key", ""), requirement.get("operator", "")
        values = ",".join(sorted(requirement.get("values") or ()))
        words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "DoesNotExist": f"!{key}"}
        parts.append((key, words.get(operator, key)))
    return ",".join(text for _, text in sorted(parts)) or "<none>"


def _has_condition(document: Document, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in get(document, "status.conditions", ()))


def _job(job: Document, now: datetime) -> list[Any]:
    succeeded, completions = get(job, "status.succeeded", 0), get(job, "spec.completions")
    parallelism = get(job, "spec.parallelism", 0)
    done = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    if completions is not None:
        done = f"{succeeded}/{completions}"
    return [
        _name(job),
        _job_state(job),
        done,
        _job_duration(job, now),
        _age(job, now),
        *_containers(job, "spec.template.spec.containers"),
        _selector(get(job, "spec.selector")),
    ]


def _job_state(job: Document) -> str:
    for state in JOB_STATES:
        if state == "Terminating":
            if job["metadata"].get("deletionTimestamp"):
                return state
        elif _has_condition(job, state):
            return state
    return "Running"


def _job_duration(job: Document, now: datetime) -> str:
    started, ended = get(job, "status.startTime"), get(job, "status.completionTime")
    if not started:
        return ""
    end = timestamps.parse(ended) if ended else now
    return ages.human((end - timestamps.parse(started)).total_seconds())


def _cron_job(job: Document, now: datetime) -> list[Any]:
    last, suspend = get(job, "status.lastScheduleTime"), get(job, "spec.suspend")
    return [
        _name(job),
        get(job, "spec.schedule", ""),
        get(job, "spec.timeZone", "<none>"),
        "<unset>" if suspend is None else str(suspend),
        len(get(job, "status.active", ())),
        ages.since(last, now) if last else "<none>",
        _age(job, now),
        *_containers(job, "spec.jobTemplate.spec.template.spec.containers"),
        _selector(get(job, "spec.jobTemplate.spec.selector")),
    ]


def _deployment(document: Document, now: datetime) -> list[Any]:
    ready, wanted = get(document, "status.readyReplicas", 0), get(document, "spec.replicas", 0)
    return [
        _name(document),
        f"{ready}/{wanted}",
        get(document, "status.updatedReplicas", 0),
        get(document, "status.availableReplicas", 0),
        _age(document, now),
        *_containers(document, "spec.template.spec.containers"),
        _selector(get(document, "spec.selector")),
    ]


def _stateful_set(document: Document, now: datetime) -> list[Any]:
    ready, wanted = get(document, "status.readyReplicas", 0), get(document, "spec.replicas", 0)
    return [
        _name(document),
        f"{ready}/{wanted}",
        _age(document, now),
        *_containers(document, "spec.template.spec.containers"),
    ]


def _replica_set(document: Document, now: datetime) -> list[Any]:
    return [
        _name(document),
        get(document, "spec.replicas", 0),
        get(document, "status.replicas", 0),
        get(document, "status.readyReplicas", 0),
        _age(document, now),
        *_containers(document, "spec.template.spec.containers"),
        _selector(get(document, "spec.selector")),
    ]


def _daemon_set(document: Document, now: datetime) -> list[Any]:
    counts = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"
    )  # fmt: skip
    return [
        _name(document),
        *(get(document, f"status.{count}", 0) for count in counts),
        _labels(get(document, "spec.template.spec.nodeSelector")),
        _age(document, now),
        *_containers(document, "spec.template.spec.containers"),
        _selector(get(document, "spec.selector")),
    ]


def _node(node: Document, now: datetime) -> list[Any]:
    info = get(node, "status.nodeInfo", {})
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        _name(node),
        _node_state(node),
        ",".join(_node_roles(node)) or "<none>",
        _age(node, now),
        info.get("kubeletVersion", ""),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_state(node: Document) -> str:
    ready = [c for c in get(node, "status.conditions", ()) if c.get("type") == "Ready"]
    states = [("" if ready[-1].get("status") == "True" else "Not") + "Ready"] if ready else ["Unknown"]
    if get(node, "spec.unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _node_roles(node: Document) -> list[str]:
    roles = set()
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith("node-role.kubernetes.io/"):
            roles.add(key.removeprefix("node-role.kubernetes.io/"))
        elif key == "kubernetes.io/role":
            roles.add(value)
    return sorted(role for role in roles if role)


def _address(node: Document, kind: str) -> str:
    addresses: Sequence[Mapping[str, str]] = get(node, "status.addresses", ())
    return next((address["address"] for address in addresses if address.get("type") == kind), "<none>")


def _event(event: Document, now: datetime) -> list[Any]:
    # events.k8s.io words the same object differently
    regarding = event.get("involvedObject") or event.get("regarding") or {}
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp") or first
    count = event.get("count") or event.get("deprecatedCount") or 1
    series = event.get("series")
    if series:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    kind, name = regarding.get("kind", "").lower(), regarding.get("name", "")
    return [
        ages.since(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        regarding.get("fieldPath", ""),
        _event_source(event),
        (event.get("message") or event.get("note") or "").strip(),
        ages.since(first, now),
        count,
        _name(event),
    ]


def _event_source(event: Document) -> str:
    source = event.get("source") or event.get("deprecatedSource") or {}
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    host = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _service(service: Document, now: datetime) -> list[Any]:
    ips = get(service, "spec.clusterIPs", ())
    return [
        _name(service),
        get(service, "spec.type", ""),
        ips[0] if ips else "<none>",
        _external_ip(service),
        ",".join(_port(port) for port in get(service, "spec.ports", ())) or "<none>",
        _age(service, now),
        _labels(get(service, "spec.selector")),
    ]


def _external_ip(service: Document) -> str:
    kind, external = get(service, "spec.type"), list(get(service, "spec.externalIPs", ()))
    if kind == "ExternalName":
        return str(get(service, "spec.externalName", ""))
    if kind == "LoadBalancer":
        ingress = get(service, "status.loadBalancer.ingress", ())
        return ",".join([i.get("ip") or i.get("hostname", "") for i in ingress] + external) or "<pending>"
    return ",".join(external) or "<none>" if kind in {"ClusterIP", "NodePort"} else "<unknown>"


def _port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol')}"


def _role_binding(binding: Document, now: datetime) -> list[Any]:
    subjects = binding.get("subjects") or ()

    def of(kind: str) -> str:
        return ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == kind)

    accounts = ", ".join(
        f"{s.get('namespace', '')}/{s.get('name', '')}" for s in subjects if s.get("kind") == "ServiceAccount"
    )
    role = f"{get(binding, 'roleRef.kind', '')}/{get(binding, 'roleRef.name', '')}"
    return [_name(binding), role, _age(binding, now), of("User"), of("Group"), accounts]


def _resource_quota(quota: Document, now: datetime) -> list[Any]:
    hard, used = get(quota, "status.hard", {}), get(quota, "status.used", {})
    texts: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(hard):
        shown = [quantity.canonical(values.get(name, 0)) for values in (used, hard)]
        texts[name.startswith("limits.")].append(f"{name}: {shown[0]}/{shown[1]}")
    return [_name(quota), ", ".join(texts[False]), ", ".join(texts[True]), _age(quota, now)]


def _config_map(document: Document, now: datetime) -> list[Any]:
    return [
        _name(document),
        len(document.get("data") or {}) + len(document.get("binaryData") or {}),
        _age(document, now),
    ]


def _priority_class(document: Document, now: datetime) -> list[Any]:
    return [
        _name(document),
        document.get("value", 0),
        bool(document.get("globalDefault")),
        _age(document, now),
        document.get("preemptionPolicy", ""),
    ]


CELLS: Final[dict[str, Cells]] = {
    "Pod": pod_columns.cells,
    "Job": _job,
    "CronJob": _cron_job,
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replica_set,
    "DaemonSet": _daemon_set,
    "Node": _node,
    "Event": _event,
    "Service": _service,
    "RoleBinding": _role_binding,
    "ClusterRoleBinding": _role_binding,
    "ResourceQuota": _resource_quota,
    "ConfigMap": _config_map,
    "PriorityClass": _priority_class,
    "Namespace": lambda o, now: [_name(o), get(o, "status.phase", ""), _age(o, now)],
    "Secret": lambda o, now: [_name(o), o.get("type", ""), len(o.get("data") or {}), _age(o, now)],
    "ServiceAccount": lambda o, now: [_name(o), _age(o, now)],
    "Lease": lambda o, now: [_name(o), get(o, "spec.holderIdentity", ""), _age(o, now)],
    "RuntimeClass": lambda o, now: [_name(o), o.get("handler", ""), _age(o, now)],
    "MutatingWebhookConfiguration": lambda o, now: [_name(o), len(o.get("webhooks") or ()), _age(o, now)],
    "ValidatingWebhookConfiguration": lambda o, now: [_name(o), len(o.get("webhooks") or ()), _age(o, now)],
}

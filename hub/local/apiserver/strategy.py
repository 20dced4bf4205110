"""What the server does to each kind before it is stored: status kept apart, generation counted, a few fields made.

Source: the PrepareForCreate and PrepareForUpdate of kubernetes pkg/registry/*/strategy.go.
"""

import base64
from collections.abc import Callable

from hub.local.apiserver import crd_strategy, pod_strategy
from hub.local.apiserver.call import Call
from hub.local.apiserver.resources import Resource
from worker_agent.api.document import Document

_CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_JOB_NAME = "batch.kubernetes.io/job-name"
_COUNTED = {
    "MutatingWebhookConfiguration": "webhooks",
    "ValidatingWebhookConfiguration": "webhooks",
    "PodTemplate": "template",
}
"""Where the part that counts generations is not ``spec``."""


def prepare_new(call: Call, document: Document) -> None:
    """Ready a new document in place; metadata is already filled."""
    resource = call.resource
    if resource.generation or resource.custom:
        document["metadata"]["generation"] = 1
    if resource.has_status and not resource.status_on_create:
        if resource.custom:
            document.pop("status", None)
        else:
            document["status"] = {}
    special = _NEW.get((resource.group, resource.kind))
    if special is not None:
        special(call, document)


def prepare_changed(call: Call, document: Document, old: Document) -> None:
    """Ready an updated document in place: each endpoint changes only its own part."""
    resource = call.resource
    if call.target.subresource == "status":
        _only_status(resource, document, old)
    elif resource.has_status and call.target.subresource != "binding":
        restore(document, old, "status")
    special = _CHANGED.get((resource.group, resource.kind))
    if special is not None:
        special(call, document, old)
    if call.target.subresource == "binding":
        return
    if (resource.generation or resource.custom) and _counted(resource, document) != _counted(resource, old):
        document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def restore(document: Document, old: Document, name: str) -> None:
    if name in old:
        document[name] = old[name]
    else:
        document.pop(name, None)


def _only_status(resource: Resource, document: Document, old: Document) -> None:
    for name in (*document, *old):
        if name not in ("status", "metadata", "kind", "apiVersion"):
            restore(document, old, name)
    if resource.custom:
        kept = {name: document["metadata"][name] for name in ("managedFields",) if name in document["metadata"]}
        metadata = {name: value for name, value in old["metadata"].items() if name != "managedFields"}
        document["metadata"] = {**metadata, **kept}


def _counted(resource: Resource, document: Document) -> object:
    if resource.kind == "Deployment":
        return document.get("spec"), document["metadata"].get("annotations")  # rollbacks are told by annotations
    if not resource.custom:
        return document.get(_COUNTED.get(resource.kind, "spec"))
    apart = {"metadata", "kind", "apiVersion", "status"} if resource.has_status else {"metadata", "kind", "apiVersion"}
    return {name: value for name, value in document.items() if name not in apart}


def _new_job(call: Call, job: Document) -> None:
    spec = job.setdefault("spec", {})
    if spec.get("manualSelector"):
        return
    metadata = job["metadata"]
    template = spec.setdefault("template", {})
    template_metadata = template["metadata"] = dict(template.get("metadata") or {})
    labels = template_metadata["labels"] = dict(template_metadata.get("labels") or {})
    shared = bool(labels) and metadata.get("labels") == labels
    labels.setdefault(_CONTROLLER_UID, metadata["uid"])
    labels.setdefault("controller-uid", metadata["uid"])
    labels.setdefault(_JOB_NAME, metadata["name"])
    labels.setdefault("job-name", metadata["name"])
    if shared:  # defaulting made them one map in the real server: what is added to one is in both
        metadata["labels"] = dict(labels)
    selector = spec["selector"] = dict(spec.get("selector") or {})
    matched = selector["matchLabels"] = dict(selector.get("matchLabels") or {})
    matched.setdefault(_CONTROLLER_UID, metadata["uid"])


def as_read(resource: Resource, job: Document) -> None:
    """A job without labels has those of its pods: the real server defaults this whenever it reads one."""
    if resource.kind != "Job" or resource.group != "batch":
        return
    labels = ((job["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def _new_namespace(call: Call, namespace: Document) -> None:
    spec = namespace["spec"] = dict(namespace.get("spec") or {})
    if "kubernetes" not in (spec.get("finalizers") or ()):
        spec["finalizers"] = [*(spec.get("finalizers") or ()), "kubernetes"]
    namespace["status"] = {"phase": "Active"}
    _label_namespace(namespace)


def _label_namespace(namespace: Document) -> None:
    metadata = namespace["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name", "")}


def _changed_namespace(call: Call, namespace: Document, old: Document) -> None:
    if call.target.subresource == "finalize":
        restore(namespace, old, "status")
    elif call.target.subresource != "status":
        namespace["spec"] = {
            **(namespace.get("spec") or {}),
            "finalizers": (old.get("spec") or {}).get("finalizers", []),
        }
    _label_namespace(namespace)


def _secret_data(call: Call, secret: Document, old: Document | None = None) -> None:
    """stringData is write-only: it overwrites data."""
    text = secret.pop("stringData", None)
    if text:
        coded = {name: base64.b64encode(value.encode()).decode() for name, value in text.items()}
        secret["data"] = {**(secret.get("data") or {}), **coded}


def _new_claim(call: Call, claim: Document) -> None:
    claim["status"] = {"phase": "Pending"}


def _new_service(call: Call, service: Document) -> None:
    """A ClusterIP from 10.96.0.0/12, by the order of creation."""
    service["status"] = {"loadBalancer": {}}
    spec = service.setdefault("spec", {})
    if spec.get("type", "ClusterIP") == "ExternalName" or spec.get("clusterIP"):
        return
    number = call.state.version % 0xFFFE + 1
    address = f"10.{96 + (number >> 16) % 16}.{number >> 8 & 255}.{number & 255}"
    families = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    service["spec"] = {**families, **spec, "clusterIP": address, "clusterIPs": [address]}


def _new_stateful_set(_call: Call, document: Document) -> None:
    document["status"] = {"replicas": 0, "availableReplicas": 0}  # fields without omitempty


_NEW: dict[tuple[str, str], Callable[[Call, Document], None]] = {
    ("apps", "StatefulSet"): _new_stateful_set,
    ("batch", "Job"): _new_job,
    ("", "Namespace"): _new_namespace,
    ("", "Pod"): pod_strategy.prepare_new,
    ("", "Secret"): _secret_data,
    ("", "PersistentVolumeClaim"): _new_claim,
    ("", "PersistentVolume"): _new_claim,
    ("", "Service"): _new_service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_strategy.prepare_new,
}
_CHANGED: dict[tuple[str, str], Callable[[Call, Document, Document], None]] = {
    ("", "Namespace"): _changed_namespace,
    ("", "Pod"): pod_strategy.prepare_changed,
    ("", "Secret"): _secret_data,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_strategy.prepare_changed,
}

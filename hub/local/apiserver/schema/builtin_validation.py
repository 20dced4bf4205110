"""Objects of built-in kinds checked as the real server checks them: metadata of all, more of those queue users meet."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from hub.local.apiserver.schema import (
    client_config_validation,
    field_errors,
    job_validation,
    name_rules,
    object_meta,
    pod_validation,
    webhook_validation,
)
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document

Check = Callable[[Document, Document | None, str], Iterator[FieldError]]
LABEL_NAMED: Final = frozenset({"Namespace", "Service"})
PATH_NAMED: Final = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "APIService"})
LARGEST_SECRET: Final = 1024 * 1024
HIGHEST_PRIORITY: Final = 1_000_000_000


def errors(kind: str, namespaced: bool, new: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """What is wrong with creating ``new`` or changing ``old`` into it through a subresource."""
    found = object_meta.errors(new, old, namespaced=namespaced, name_rule=name_rule(kind))
    if kind not in OF_OTHER_SERVERS:
        found += _finalizer_errors(new)
    check = CHECKS.get(kind)
    if check is not None:
        found += check(new, old, subresource)
    return found


OF_OTHER_SERVERS: Final = frozenset({"APIService", "CustomResourceDefinition"})
"""Checked by the servers of extensions and aggregation, whose own finalizers are short names."""


def _finalizer_errors(document: Document) -> Iterator[FieldError]:
    for index, name in enumerate(document["metadata"].get("finalizers") or ()):
        if "/" not in name and name not in object_meta.STANDARD_FINALIZERS:
            words = "name is neither a standard finalizer name nor is it fully qualified"
            yield field_errors.invalid(f"metadata.finalizers[{index}]", name, words)


def name_rule(kind: str) -> object_meta.NameRule:
    """How objects of a kind may be named."""
    if kind in LABEL_NAMED:
        return name_rules.dns1123_label
    return name_rules.path_segment if kind in PATH_NAMED else name_rules.dns1123_subdomain


def _pod(pod: Document, old: Document | None, subresource: str) -> Iterator[FieldError]:
    if subresource:
        return
    yield from pod_validation.spec_errors(pod.get("spec") or {}, "spec")
    if old is not None:
        yield from pod_validation.update_errors(pod, old)


def _job(job: Document, old: Document | None, subresource: str) -> Iterator[FieldError]:
    yield from job_validation.errors(job, old, subresource)


def _cron_job(job: Document, old: Document | None, subresource: str) -> Iterator[FieldError]:
    if not subresource:
        yield from job_validation.cron_errors(job, old)


def _data_errors(document: Document, fields: tuple[str, ...]) -> Iterator[FieldError]:
    size = 0
    for field in fields:
        for key, value in (document.get(field) or {}).items():
            size += len(value or "")
            for complaint in name_rules.config_map_key(key):
                yield field_errors.invalid(f"{field}[{key}]", key, complaint)
    if size > LARGEST_SECRET:
        yield field_errors.too_long(fields[0] if fields == ("data",) else "", LARGEST_SECRET)


def _immutable_data_errors(new: Document, old: Document | None, fields: tuple[str, ...]) -> Iterator[FieldError]:
    if old is None or not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield field_errors.forbidden("immutable", "field is immutable when `immutable` is set")
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            yield field_errors.forbidden(field, "field is immutable when `immutable` is set")


def _secret(secret: Document, old: Document | None, _subresource: str) -> Iterator[FieldError]:
    yield from _data_errors(secret, ("data",))
    yield from _immutable_data_errors(secret, old, ("data",))
    if old is not None and secret.get("type") != old.get("type"):
        yield field_errors.invalid("type", secret.get("type"), object_meta.IMMUTABLE)
    required = SECRET_KEYS.get(secret.get("type", ""), ())
    for key in required:
        if key not in (secret.get("data") or {}):
            yield field_errors.required(f"data[{key}]")


SECRET_KEYS: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
}


def _config_map(document: Document, old: Document | None, _subresource: str) -> Iterator[FieldError]:
    fields = ("data", "binaryData")
    yield from _data_errors(document, fields)
    for key in (document.get("data") or {}).keys() & (document.get("binaryData") or {}).keys():
        yield field_errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from _immutable_data_errors(document, old, fields)


def _runtime_class(document: Document, _old: Document | None, _subresource: str) -> Iterator[FieldError]:
    if not document.get("handler"):
        yield field_errors.required("handler")


def _priority_class(document: Document, old: Document | None, _subresource: str) -> Iterator[FieldError]:
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if name.startswith("system-"):
        words = "priority class names with 'system-' prefix are reserved for system use only. error: "
        known = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
        if known.get(name) != value:
            yield field_errors.forbidden("metadata.name", f"{words}{name} is not a known system priority class")
    elif value > HIGHEST_PRIORITY:
        words = f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        yield field_errors.forbidden("value", words)
    policy = document.get("preemptionPolicy")
    if policy not in {None, "PreemptLowerPriority", "Never"}:
        yield field_errors.not_supported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    for field in ("value", "preemptionPolicy") if old is not None else ():
        if document.get(field) != (old or {}).get(field):
            if field == "value":
                yield field_errors.forbidden(field, "may not be changed in an update.")
            else:
                yield field_errors.invalid(field, document.get(field), object_meta.IMMUTABLE)


def _node(node: Document, _old: Document | None, _subresource: str) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(field) or "" for field in ("key", "value", "effect"))
        for complaint in name_rules.label_key(key):
            yield field_errors.invalid(f"{path}.key", key, complaint)
        for complaint in name_rules.label_value(value):
            yield field_errors.invalid(f"{path}.value", value, complaint)
        if not effect:
            yield field_errors.required(f"{path}.effect")
        elif effect not in pod_validation.EFFECTS:
            yield field_errors.not_supported(f"{path}.effect", effect, pod_validation.EFFECTS)
        if (key, effect) in seen:
            words = "taints must be unique by key and effect pair"
            yield FieldError(field_errors.DUPLICATE, path, words, taint)
        seen.add((key, effect))


def _lease(lease: Document, _old: Document | None, _subresource: str) -> Iterator[FieldError]:
    spec = lease.get("spec") or {}
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        yield field_errors.invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
    if spec.get("leaseTransitions") is not None and spec["leaseTransitions"] < 0:
        words = "must be greater than or equal to 0"
        yield field_errors.invalid("spec.leaseTransitions", spec["leaseTransitions"], words)


def _event(event: Document, old: Document | None, _subresource: str) -> Iterator[FieldError]:
    if old is not None:
        return
    if "regarding" in event:
        yield from _new_event_errors(event)
        return
    namespace = (event.get("involvedObject") or {}).get("namespace") or ""
    if (namespace or "default") != event["metadata"].get("namespace", ""):
        yield field_errors.invalid("involvedObject.namespace", namespace, "does not match event.namespace")


def _new_event_errors(event: Document) -> Iterator[FieldError]:
    """What events.k8s.io asks for beyond the older group."""
    for field in ("eventTime", "reportingController", "reportingInstance", "action", "reason"):
        if not event.get(field):
            yield field_errors.required(field)
    controller, kind = event.get("reportingController") or "", event.get("type", "")
    for complaint in name_rules.label_key(controller):
        yield field_errors.invalid("reportingController", controller, complaint)
    if kind not in {"Normal", "Warning"}:
        yield field_errors.invalid("type", "", f"has invalid value: {kind}")
    if len(event.get("note") or "") > 1024:
        yield field_errors.invalid("message", "", "can have at most 1024 characters")


def _workload_of(template_required: str) -> Check:
    """Deployment and its like: a selector that selects the template's labels, an Always template."""

    def check(document: Document, old: Document | None, subresource: str) -> Iterator[FieldError]:
        if subresource:
            return
        spec = document.get("spec") or {}
        if (spec.get("replicas") or 0) < 0:
            yield field_errors.invalid("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
        yield from _selector_errors(spec, old)
        strategy = spec.get("strategy") or {}
        if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
            words = "may not be specified when strategy `type` is 'Recreate'"
            yield field_errors.forbidden("spec.strategy.rollingUpdate", words)
        yield from pod_validation.template_errors(spec.get("template") or {}, "spec.template")
        policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
        if policy != template_required:
            yield field_errors.not_supported("spec.template.spec.restartPolicy", policy, (template_required,))

    return check


def _selector_errors(spec: Mapping[str, Any], old: Document | None) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield field_errors.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield field_errors.invalid("spec.selector", selector, "empty selector is invalid for deployment")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if selector is None or not job_validation.matches(selector, labels):
        words = "`selector` does not match template `labels`"
        yield field_errors.invalid("spec.template.metadata.labels", labels or None, words)
    if old is not None and selector != (old.get("spec") or {}).get("selector"):
        yield field_errors.invalid("spec.selector", selector, object_meta.IMMUTABLE)


CHECKS: Final[dict[str, Check]] = {
    "Pod": _pod,
    "Job": _job,
    "CronJob": _cron_job,
    "Secret": _secret,
    "ConfigMap": _config_map,
    "PriorityClass": _priority_class,
    "Node": _node,
    "Lease": _lease,
    "RuntimeClass": _runtime_class,
    "APIService": client_config_validation.api_service_errors,
    "MutatingWebhookConfiguration": webhook_validation.errors,
    "ValidatingWebhookConfiguration": webhook_validation.errors,
    "Event": _event,
    "Deployment": _workload_of("Always"),
    "StatefulSet": _workload_of("Always"),
    "DaemonSet": _workload_of("Always"),
    "ReplicaSet": _workload_of("Always"),
}

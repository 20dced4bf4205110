"""Pods and pod templates checked as the real server checks them, in what a user of queues writes.

Source: kubernetes pkg/apis/core/validation/validation.go. Volumes of storage systems, security profiles and probes'
details are left to the schema.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hub.local.apiserver.schema import field_errors, name_rules, object_meta
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api import quantity
from worker_agent.api.document import Document, get

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS: Final = ("Equal", "Exists")
OVERCOMMITTED: Final = ("cpu", "memory", "ephemeral-storage", "storage")
SOURCES: Final = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
MUTABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def template_errors(template: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Complaints about a pod template: its labels, annotations and spec."""
    metadata = template.get("metadata") or {}
    yield from object_meta.label_errors(metadata.get("labels"), f"{path}.labels")
    yield from object_meta.annotation_errors(metadata.get("annotations"), f"{path}.annotations")
    yield from spec_errors(template.get("spec") or {}, f"{path}.spec")


def spec_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Complaints about a PodSpec."""
    volumes = [volume.get("name", "") for volume in spec.get("volumes") or ()]
    yield from _name_list_errors(volumes, f"{path}.volumes")
    yield from _containers_errors(spec, path, volumes)
    yield from _choice(spec, "restartPolicy", RESTART_POLICIES, path)
    yield from _choice(spec, "dnsPolicy", DNS_POLICIES, path)
    yield from _number_errors(spec, path)
    yield from object_meta.label_errors(spec.get("nodeSelector"), f"{path}.nodeSelector")
    for field, rule in (
        ("serviceAccountName", name_rules.dns1123_subdomain),
        ("nodeName", name_rules.dns1123_subdomain),
        ("priorityClassName", name_rules.dns1123_subdomain),
        ("runtimeClassName", name_rules.dns1123_subdomain),
        ("hostname", name_rules.dns1123_label),
        ("subdomain", name_rules.dns1123_label),
    ):
        for complaint in rule(spec[field]) if spec.get(field) else ():
            yield field_errors.invalid(f"{path}.{field}", spec[field], complaint)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration_errors(toleration, f"{path}.tolerations[{index}]")
    yield from _gate_errors(spec, path)


def _choice(
    value: Mapping[str, Any], field: str, allowed: Sequence[str], path: str, *, required: bool = True
) -> Iterator[FieldError]:
    chosen = value.get(field)
    if not chosen:
        if required:
            yield field_errors.required(f"{path}.{field}")
    elif chosen not in allowed:
        yield field_errors.not_supported(f"{path}.{field}", chosen, allowed)


def _number_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        words = name_rules.in_range(1, 2**31 - 1)
        yield field_errors.invalid(f"{path}.activeDeadlineSeconds", deadline, words)


def _name_list_errors(names: Sequence[str], path: str) -> Iterator[FieldError]:
    seen = set()
    for index, name in enumerate(names):
        place = f"{path}[{index}].name"
        if not name:
            yield field_errors.required(place)
            continue
        for complaint in name_rules.dns1123_label(name):
            yield field_errors.invalid(place, name, complaint)
        if name in seen:
            yield field_errors.duplicate(place, name)
        seen.add(name)


def _containers_errors(spec: Mapping[str, Any], path: str, volumes: Sequence[str]) -> Iterator[FieldError]:
    containers = spec.get("containers") or ()
    if not containers:
        yield field_errors.required(f"{path}.containers")
    inits = spec.get("initContainers") or ()
    yield from _name_list_errors([c.get("name", "") for c in containers], f"{path}.containers")
    yield from _name_list_errors([c.get("name", "") for c in inits], f"{path}.initContainers")
    taken = {c.get("name") for c in containers}
    for index, container in enumerate(inits):
        if container.get("name") in taken:
            yield field_errors.duplicate(f"{path}.initContainers[{index}].name", container.get("name"))
    for field, listed in (("containers", containers), ("initContainers", inits)):
        for index, container in enumerate(listed):
            yield from _container_errors(container, f"{path}.{field}[{index}]", volumes)


def _container_errors(container: Mapping[str, Any], path: str, volumes: Sequence[str]) -> Iterator[FieldError]:
    image = container.get("image", "")
    if not image:
        yield field_errors.required(f"{path}.image")
    yield from _choice(container, "terminationMessagePolicy", MESSAGE_POLICIES, path)
    yield from _choice(container, "imagePullPolicy", PULL_POLICIES, path)
    for index, port in enumerate(container.get("ports") or ()):
        yield from _port_errors(port, f"{path}.ports[{index}]")
    for index, variable in enumerate(container.get("env") or ()):
        yield from _variable_errors(variable, f"{path}.env[{index}]")
    mounts = container.get("volumeMounts") or ()
    for index, mount in enumerate(mounts):
        yield from _mount_errors(mount, f"{path}.volumeMounts[{index}]", volumes, mounts[:index])
    yield from resource_errors(container.get("resources") or {}, f"{path}.resources")


def _port_errors(port: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    number, host = port.get("containerPort", 0), port.get("hostPort", 0)
    if number == 0:
        yield field_errors.required(f"{path}.containerPort")
    elif not 1 <= number <= 65535:
        yield field_errors.invalid(f"{path}.containerPort", number, name_rules.in_range(1, 65535))
    if host and not 1 <= host <= 65535:
        yield field_errors.invalid(f"{path}.hostPort", host, name_rules.in_range(1, 65535))
    yield from _choice(port, "protocol", PROTOCOLS, path)


def _variable_errors(variable: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    name, source = variable.get("name", ""), variable.get("valueFrom")
    if not name:
        yield field_errors.required(f"{path}.name")
    elif "=" in name or not name.isascii() or not name.isprintable():
        words = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        yield field_errors.invalid(f"{path}.name", name, words)
    if source is None:
        return
    if len(source) != 1:
        words = "may not have more than one field specified at a time"
        if not source:
            words = (
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            )
        yield field_errors.invalid(f"{path}.valueFrom", "", words)
    if source and variable.get("value"):
        yield field_errors.invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")


def _mount_errors(
    mount: Mapping[str, Any], path: str, volumes: Sequence[str], before: Sequence[Mapping[str, Any]]
) -> Iterator[FieldError]:
    name, place = mount.get("name", ""), mount.get("mountPath", "")
    if not name:
        yield field_errors.required(f"{path}.name")
    if not place:
        yield field_errors.required(f"{path}.mountPath")
    elif any(other.get("mountPath") == place for other in before):
        yield field_errors.invalid(f"{path}.mountPath", place, "must be unique")
    if name and name not in volumes:
        yield FieldError(field_errors.NOT_FOUND, f"{path}.name", "", name)


def resource_errors(resources: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Requests and limits: known names, no negative amounts, requests within limits."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _amount_errors(name, amount, f"{path}.{field}")
    for name, amount in requests.items():
        if name in limits:
            yield from _within_limit_errors(name, amount, limits[name], f"{path}.requests")
        elif name not in OVERCOMMITTED and ("/" in name or name.startswith("hugepages-")):
            yield field_errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")


def _amount_errors(name: str, amount: Any, path: str) -> Iterator[FieldError]:
    place = f"{path}[{name}]"
    malformed = name_rules.label_key(name)
    for complaint in malformed:
        yield field_errors.invalid(place, name, complaint)
    if "/" not in name and name not in OVERCOMMITTED and not name.startswith("hugepages-"):
        if not malformed:
            yield field_errors.invalid(place, name, "must be a standard resource type or fully qualified")
        yield field_errors.invalid(place, name, "must be a standard resource for containers")
    number = quantity.parse(amount)
    if number < 0:
        yield field_errors.invalid(place, amount, "must be greater than or equal to 0")
    elif "/" in name and number.denominator != 1:
        yield field_errors.invalid(place, amount, "must be an integer")


def _within_limit_errors(name: str, request: Any, limit: Any, path: str) -> Iterator[FieldError]:
    fixed = "/" in name or name.startswith("hugepages-")
    if fixed and quantity.compare(request, limit) != 0:
        yield field_errors.invalid(path, request, f"must be equal to {name} limit of {limit}")
    elif quantity.compare(request, limit) > 0:
        yield field_errors.invalid(path, request, f"must be less than or equal to {name} limit of {limit}")


def _toleration_errors(toleration: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    key, operator, effect = (toleration.get(field) or "" for field in ("key", "operator", "effect"))
    for complaint in name_rules.label_key(key) if key else ():
        yield field_errors.invalid(f"{path}.key", key, complaint)
    if not key and operator != "Exists":
        words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield field_errors.invalid(f"{path}.operator", operator, words)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        words = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{path}.effect", effect, words)
    if operator in {"", "Equal"}:
        for complaint in name_rules.label_value(toleration.get("value") or ""):
            yield field_errors.invalid(f"{path}.operator", toleration.get("value"), complaint)
    elif operator == "Exists":
        if toleration.get("value"):
            words = "value must be empty when `operator` is 'Exists'"
            yield field_errors.invalid(f"{path}.operator", toleration["value"], words)
    else:
        yield field_errors.not_supported(f"{path}.operator", operator, OPERATORS)
    if effect and effect not in EFFECTS:
        yield field_errors.not_supported(f"{path}.effect", effect, EFFECTS)


def _gate_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    seen = set()
    gates = spec.get("schedulingGates") or ()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        for complaint in name_rules.label_key(name):
            yield field_errors.invalid(f"{path}.schedulingGates[{index}]", name, complaint)
        if name in seen:
            yield field_errors.duplicate(f"{path}.schedulingGates[{index}]", name)
        seen.add(name)
    if gates and spec.get("nodeName"):
        words = "cannot be set until all schedulingGates have been cleared"
        yield field_errors.forbidden(f"{path}.nodeName", words)


def update_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """What may change in a Pod: images, tolerations added, gates removed, and placement while gated."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    gates, gates_before = (_gates(part) for part in (spec, before))
    for index, name in enumerate(gates):
        if name not in gates_before:
            words = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield field_errors.forbidden(f"spec.schedulingGates[{index}].name", words)
    yield from _toleration_update_errors(spec, before)
    yield from _deadline_update_errors(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    if _comparable(spec, before, bool(gates_before)) != _comparable(before, before, bool(gates_before)):
        yield field_errors.forbidden("spec", MUTABLE)


def _gates(spec: Mapping[str, Any]) -> list[str]:
    return [gate.get("name", "") for gate in spec.get("schedulingGates") or ()]


def _toleration_update_errors(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[FieldError]:
    def plain(toleration: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    now = [plain(toleration) for toleration in spec.get("tolerations") or ()]
    if any(plain(toleration) not in now for toleration in before.get("tolerations") or ()):
        words = "existing toleration can not be modified except its tolerationSeconds"
        yield field_errors.forbidden("spec.tolerations", words)


def _deadline_update_errors(now: int | None, before: int | None) -> Iterator[FieldError]:
    if before is None:
        return
    if now is None:
        yield field_errors.invalid(
            "spec.activeDeadlineSeconds", now, "must not update from a positive integer to nil value"
        )
    elif now > before:
        yield field_errors.invalid("spec.activeDeadlineSeconds", now, "must be less than or equal to previous value")


def _comparable(spec: Mapping[str, Any], before: Mapping[str, Any], gated: bool) -> dict[str, Any]:
    """The spec with everything that may change set aside."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if gated:
        free |= {"nodeSelector"}
    result = {key: value for key, value in spec.items() if key not in free and value not in (None, [], {})}
    for field in ("containers", "initContainers"):
        result[field] = [{**c, "image": ""} for c in spec.get(field) or ()]
    if gated and spec.get("affinity"):
        rest = {key: value for key, value in spec["affinity"].items() if key != "nodeAffinity"}
        result["affinity"] = rest
        if not rest and not get(before, "affinity"):
            del result["affinity"]
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        result["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return result

"""Warnings about objects that are accepted: what the real server sends along with its answer to a write.

Source: kubernetes pkg/api/pod/warnings.go and the WarningsOnCreate and WarningsOnUpdate of the strategies.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hub.local.apiserver.schema import field_errors, name_rules, object_meta
from worker_agent.api import quantity
from worker_agent.api.document import Document, get

TEMPLATES: Final = {
    "Job": "spec.template",
    "CronJob": "spec.jobTemplate.spec.template",
    "Deployment": "spec.template",
    "StatefulSet": "spec.template",
    "DaemonSet": "spec.template",
    "ReplicaSet": "spec.template",
}
JOB_NAME: Final = (
    "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended"
)
BYTES: Final = ("memory", "ephemeral-storage")
Mapped = Mapping[str, Any]


def of_custom(new: Document, old: Document | None) -> list[str]:
    """Warnings about a custom resource."""
    return object_meta.finalizer_warnings(new, old)


def of_builtin(kind: str, new: Document, old: Document | None) -> list[str]:
    """Warnings about a built-in object; on a change only when its spec changed."""
    if kind == "Pod":
        return [*_pod_warnings(new.get("spec") or {}, "spec")]
    path = TEMPLATES.get(kind)
    if path is None or (old is not None and _generation(new) == _generation(old)):
        return []
    found = []
    complaints = name_rules.dns1123_label(new["metadata"].get("name", ""))
    if kind == "Job" and old is None and complaints:
        found.append(f"metadata.name: {JOB_NAME}: [{' '.join(complaints)}]")
    return [*found, *_pod_warnings(get(new, f"{path}.spec", {}), f"{path}.spec")]


def _generation(document: Document) -> Any:
    return document["metadata"].get("generation")


def _pod_warnings(spec: Mapped, path: str) -> Iterator[str]:
    containers = [
        (f"{path}.{field}[{index}]", container)
        for field in ("initContainers", "containers")
        for index, container in enumerate(spec.get(field) or ())
    ]
    for place, container in containers:
        yield from _amount_warnings(container.get("resources") or {}, f"{place}.resources")
        yield from _variable_warnings(container.get("env") or (), f"{place}.env")
    yield from _port_warnings(containers)
    yield from _port_name_warnings(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        words = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {words}"


def _amount_warnings(resources: Mapped, path: str) -> Iterator[str]:
    for name in BYTES:
        for field in ("limits", "requests"):
            amount = (resources.get(field) or {}).get(name)
            if amount is not None and quantity.parse(amount).denominator != 1:
                words = f"fractional byte value {field_errors.quote(str(amount))} is invalid, must be an integer"
                yield f"{path}.{field}[{name}]: {words}"


def _variable_warnings(variables: Sequence[Mapped], path: str) -> Iterator[str]:
    seen = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and (variable.get("valueFrom") or value == reference or reference not in value):
            words = f"hides previous definition of {field_errors.quote(name)}, which may be dropped when using apply"
            yield f"{path}[{index}]: {words}"
        seen.add(name)


def _port_warnings(containers: Sequence[tuple[str, Mapped]]) -> Iterator[str]:
    known: dict[tuple[Any, Any], list[tuple[str, Mapped]]] = {}
    for place, container in containers:
        for index, port in enumerate(container.get("ports") or ()):
            here = f"{place}.ports[{index}]"
            others = known.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for there, other in others:
                yield from _clash(here, port, there, other)
            others.append((here, port))


def _clash(here: str, port: Mapped, there: str, other: Mapped) -> Iterator[str]:
    host, other_host = port.get("hostPort") or 0, other.get("hostPort") or 0
    address, other_address = port.get("hostIP") or "", other.get("hostIP") or ""
    if (host, address) == (other_host, other_address):
        yield f"{here}: duplicate port definition with {there}"
    elif not host or not other_host:
        yield f"{here}: overlapping port definition with {there}"
    elif host == other_host and bool(address) != bool(other_address):
        yield f"{here}: dangerously ambiguous port definition with {there}"


def _port_name_warnings(containers: Sequence[tuple[str, Mapped]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for place, container in containers:
        for index, port in enumerate(container.get("ports") or ()):
            name, here = port.get("name"), f"{place}.ports[{index}]"
            if name and name in known:
                first = known[name]
                words = f"services and probes that select ports by name will use {first}"
                yield f"{here}: duplicate port name {field_errors.quote(name)} with {first}, {words}"
            elif name:
                known[name] = here

"""What decides a pod's role cannot change while its Workload counts on it (spec/jobs 9.12, 9.13)."""

from collections.abc import Iterable
from typing import Any

from worker_agent.api.document import Document
from worker_agent.jobs import pod_role
from worker_agent.validation.field_error import FieldError, immutable

_CONTAINERS = ("containers", "initContainers")


def errors(new: Document, old: Document, path: str) -> list[FieldError]:
    """One error per field of the role that differs between two pod specs; ``path`` is that of the new one."""
    before, after = pod_role.shape(old), pod_role.shape(new)
    return list(_errors(after, before, new, path))


def _errors(after: Document, before: Document, new: Document, path: str) -> Iterable[FieldError]:
    for name in (*pod_role.FIELDS, "resources"):
        if name in _CONTAINERS:
            yield from _containers(after.get(name) or [], before.get(name) or [], new.get(name), f"{path}.{name}")
        elif (after.get(name) or None) != (before.get(name) or None):
            yield immutable(f"{path}.{name}", new.get(name))


def _containers(after: list[Any], before: list[Any], new: Any, path: str) -> Iterable[FieldError]:
    if len(after) != len(before):
        yield immutable(path, new)
        return
    for place, (now, then) in enumerate(zip(after, before, strict=True)):
        requests = now["resources"]["requests"]
        if (requests or None) != (then["resources"]["requests"] or None):
            yield immutable(f"{path}[{place}].resources.requests", requests)
        if (now["ports"] or None) != (then["ports"] or None):
            yield immutable(f"{path}[{place}].ports", now["ports"])

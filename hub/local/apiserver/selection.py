"""Label and field selectors of list, watch and deletecollection, as predicates on stored objects.

Grammar and wording of field selectors: k8s.io/apimachinery pkg/fields/selector.go.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hub.local.apiserver import event_versions, failure, label_query
from hub.local.apiserver.resources import Resource
from hub.local.apiserver.store import Stored
from worker_agent.api.selectors import Requirement


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a request is about. ``everything`` is true when nothing is left out."""

    namespace: str = ""
    name: str = ""
    labels: tuple[Requirement, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()
    """(field, value, whether it must be equal)."""
    everything: bool = field(default=True)

    def matches(self, stored: Stored) -> bool:
        if self.everything:
            return True
        if (self.namespace and stored.namespace != self.namespace) or (self.name and stored.name != self.name):
            return False
        labels = stored.labels or {}
        if not all(requirement.matches(labels) for requirement in self.labels):
            return False
        return all((_field(stored, name) == value) is equal for name, value, equal in self.fields)


def _field(stored: Stored, name: str) -> str:
    if name == "metadata.name":
        return stored.name
    if name == "metadata.namespace":
        return stored.namespace
    return (stored.fields or {}).get(name, "")


def select(resource: Resource, namespace: str, name: str, query: Mapping[str, str]) -> Selection:
    """The selection of a request, with the real server's refusals for what it cannot read."""
    labels = label_query.parse(query.get("labelSelector", ""))
    fields = parse_fields(resource, query.get("fieldSelector", ""))
    for key, value, equal in fields:
        if key == "metadata.name" and equal and not name:
            name = value
    return Selection(namespace, name, labels, fields, not (namespace or name or labels or fields))


_TERM = re.compile(r"(?P<key>[^=!]+)(?P<op>==|!=|=)(?P<value>.*)", re.DOTALL)


def parse_fields(resource: Resource, text: str) -> tuple[tuple[str, str, bool], ...]:
    found = []
    for term in _split_terms(text):
        matched = _TERM.fullmatch(term)
        if matched is None:
            raise failure.bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        label = matched["key"].strip()
        if label not in ("metadata.name", "metadata.namespace") and label not in resource.selectable:
            raise failure.bad_request(_unknown_field(resource, label))
        value = re.sub(r"\\([\\,=])", r"\1", matched["value"])
        name = event_versions.kept_field(label) if event_versions.differs(resource) else label
        found.append((name, value, matched["op"] != "!="))
    return tuple(found)


def _split_terms(text: str) -> list[str]:
    return [term for term in re.split(r"(?<!\\),", text) if term.strip()]


def _unknown_field(resource: Resource, label: str) -> str:
    if resource.custom:
        return f"field label not supported: {label}"
    if resource.kind == "Job":
        return f'field label "{label}" not supported for Job'
    if resource.selectable:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'

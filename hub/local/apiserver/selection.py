"""Label and field selectors of list, watch and deletecollection, as predicates on stored objects.

Grammar and wording: k8s.io/apimachinery pkg/labels/selector.go and pkg/fields/selector.go.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hub.local.apiserver import failure
from hub.local.apiserver.resources import Resource
from hub.local.apiserver.store import Stored

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?(?:/[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_REQUIREMENT = re.compile(
    rf"\s*(?:(?P<absent>!\s*{_KEY})|(?P<key>{_KEY})(?:\s*(?P<op>==|=|!=|>|<)\s*(?P<value>{_VALUE})|"
    rf"\s+(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?)\s*(?:,|$)"
)

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One term of a label selector. ``operator`` is one of = != in notin exists ! > <."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "=" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        try:
            left, right = int(value or ""), int(next(iter(self.values)))
        except ValueError:
            return False
        return left > right if self.operator == ">" else left < right


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a request is about. ``everything`` is true when nothing is left out."""

    namespace: str = ""
    name: str = ""
    labels: tuple[LabelRequirement, ...] = ()
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
    labels = parse_labels(query.get("labelSelector", ""))
    fields = parse_fields(resource, query.get("fieldSelector", ""))
    for key, value, equal in fields:
        if key == "metadata.name" and equal and not name:
            name = value
    return Selection(namespace, name, labels, fields, not (namespace or name or labels or fields))


def parse_labels(text: str) -> tuple[LabelRequirement, ...]:
    found = []
    position = 0
    while position < len(text):
        matched = _REQUIREMENT.match(text, position)
        if matched is None:
            raise failure.bad_request(
                f'unable to parse requirement: invalid label selector "{text}" at {text[position:]!r}'
            )
        found.append(_requirement(matched))
        position = matched.end()
    return tuple(found)


def _requirement(matched: re.Match[str]) -> LabelRequirement:
    if absent := matched["absent"]:
        return LabelRequirement(absent[1:].strip(), "!")
    if matched["set"]:
        values = frozenset(value.strip() for value in matched["values"].split(","))
        return LabelRequirement(matched["key"], matched["set"], values)
    operator = matched["op"]
    if operator is None:
        return LabelRequirement(matched["key"], "exists")
    return LabelRequirement(matched["key"], "=" if operator == "==" else operator, frozenset({matched["value"]}))


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
        found.append((label, value, matched["op"] != "!="))
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

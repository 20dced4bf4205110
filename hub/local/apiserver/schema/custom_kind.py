"""One version of a CRD, compiled: its nodes, validators, rules and columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import msgspec

from hub.local.apiserver.schema import cel_rules, custom_columns, field_errors, list_types, object_meta
from hub.local.apiserver.schema.custom_columns import Columns
from hub.local.apiserver.schema.field_errors import FieldError
from hub.local.apiserver.schema.node import MISSING, Node, compile_structural
from hub.local.apiserver.schema.structural_validation import Validator
from worker_agent.api.document import Document

BLOCKING: Final = frozenset(
    {
        field_errors.NOT_SUPPORTED,
        field_errors.REQUIRED,
        field_errors.TOO_LONG,
        field_errors.TOO_MANY,
        field_errors.TYPE_INVALID,
    }
)
NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)

REMEMBERED: Final = 128
"""Compiled versions that are kept, whoever had them compiled: a definition is compiled once to see whether it can be,
once when it is served, and again by every server of this process."""


@dataclass(frozen=True, slots=True)
class CustomKind:
    """``has_status`` says that the status subresource is on: then ``status`` is written only there."""

    crd: Document
    version: Mapping[str, Any]
    node: Node
    validator: Validator
    status_validator: Validator | None
    columns: Columns
    namespaced: bool
    has_status: bool

    @classmethod
    def compile(
        cls, crd: Document, version: Mapping[str, Any], metadata: Node, *, trusted: bool = True
    ) -> "CustomKind":
        """``trusted`` is False when objects may be stored that were checked by other rules.

        Raises ValueError for a pattern, rule or column path that cannot be read.
        """
        compiled = _compiled(msgspec.json.encode([crd["spec"]["scope"], version]), metadata, trusted)
        return replace(compiled, crd=crd, version=version)

    def validate(self, new: Document, old: Document | None, subresource: str) -> list[FieldError]:
        """Metadata, schema, list uniqueness, then CEL rules, which are left out after an error they might trip over."""
        before = MISSING if old is None else old
        errors = object_meta.errors(new, old, namespaced=self.namespaced)
        if subresource == "status":
            errors += self._status_errors(new, old)
        else:
            errors += self.validator.errors(new, before)
            errors += scale_path_errors(self.version, new, "specReplicasPath")
        errors += scale_path_errors(self.version, new, "statusReplicasPath")
        # What is shared with an object that has no repeats has none; where that one has some, none is complained about.
        repeats = list(list_types.errors(new, self.node, old=before))
        if repeats and (old is None or not any(list_types.errors(old, self.node))):
            errors += repeats
        if not self.node.deep_rules:
            return errors
        if any(error.type in BLOCKING for error in errors):
            return [*errors, field_errors.invalid("<nil>", None, NOT_CHECKED)]
        return [*errors, *cel_rules.errors(new, before, self.node)]

    def _status_errors(self, new: Document, old: Document | None) -> list[FieldError]:
        if self.status_validator is None or "status" not in new:
            return []
        before = old.get("status", MISSING) if old is not None else MISSING
        return self.status_validator.errors(new["status"], before, "status")


@lru_cache(REMEMBERED)
def _compiled(scope_and_version: bytes, metadata: Node, trusted: bool) -> CustomKind:
    """What depends on nothing else of the definition. Raises ValueError."""
    scope, version = msgspec.json.decode(scope_and_version)
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"x-kubernetes-preserve-unknown-fields": True}
    node = compile_structural(schema, metadata)
    cel_rules.attach(node, trusted=trusted)
    status = schema.get("properties", {}).get("status")
    return CustomKind(
        crd={},
        version=version,
        node=node,
        validator=Validator(schema),
        status_validator=Validator(status) if status is not None else None,
        columns=custom_columns.of_version(version),
        namespaced=scope == "Namespaced",
        has_status="status" in (version.get("subresources") or {}),
    )


def scale_path_errors(version: Mapping[str, Any], document: Document, name: str) -> Iterator[FieldError]:
    """Complaints about the number a scale subresource stands for, if the version has one."""
    path = ((version.get("subresources") or {}).get("scale") or {}).get(name)
    if not path:
        return
    value: Any = document
    for part in path.removeprefix(".").split("."):
        if not isinstance(value, dict):
            kind = field_errors.go_type(value)
            told = f"{field_errors.go_text(value)} is of the type {kind}"
            words = f"{path} accessor error: {told}, expected map[string]interface{{}}"
            yield field_errors.invalid(path, 0, words)
            return
        if part not in value:
            return
        value = value[part]
    if isinstance(value, bool) or not isinstance(value, int):
        kind = {str: "string", float: "float64", bool: "bool", list: "[]interface {}"}.get(type(value), "<nil>")
        words = f"{path} accessor error: {value} is of the type {kind}, expected int64"
        yield field_errors.invalid(path, 0, words)
    elif value < 0:
        yield field_errors.invalid(path, value, "should be a non-negative integer")
    elif value >= 2**31:
        yield field_errors.invalid(path, value, f"should be less than or equal to {2**31 - 1}")

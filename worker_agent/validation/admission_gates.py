"""The annotation that gates admission (spec/engine 22.1): on jobs and on Workloads alike."""

from collections.abc import Mapping
from typing import Any, Final

from worker_agent.api.names import ADMISSION_GATED_BY_ANNOTATION
from worker_agent.validation import formats
from worker_agent.validation.field_error import FieldError, forbidden, invalid, too_long

PATH: Final = f"metadata.annotations[{ADMISSION_GATED_BY_ANNOTATION}]"
MAX_GATE_BYTES: Final = 63


def gates(annotations: Mapping[str, Any] | None) -> list[str]:
    """The names, blanks around them cut off; none for an absent or empty annotation."""
    value = (annotations or {}).get(ADMISSION_GATED_BY_ANNOTATION) or ""
    return [gate.strip() for gate in value.split(",")] if value else []


def validate(annotations: Mapping[str, Any] | None) -> list[FieldError]:
    """Names are domain-prefixed paths of at most 63 bytes, none empty, none twice."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    whole = (annotations or {}).get(ADMISSION_GATED_BY_ANNOTATION)
    for gate in gates(annotations):
        if not gate:
            errors.append(invalid(PATH, gate, "cannot contain empty gate names"))
        elif gate in seen:
            errors.append(invalid(PATH, whole, f"duplicate gate name: {gate}"))
        else:
            errors += _gate(gate)
        seen.add(gate)
    return errors


def validate_update(new: Mapping[str, Any] | None, old: Mapping[str, Any] | None) -> list[FieldError]:
    """After creation gates may only go; the format is checked as well."""
    before, after = set(gates(old)), set(gates(new))
    errors = []
    if after and not before:
        errors.append(forbidden(PATH, "cannot add admission gate after creation"))
    elif after - before:
        errors.append(forbidden(PATH, "can only remove gates, not add new ones"))
    return errors + validate(new)


def _gate(gate: str) -> list[FieldError]:
    errors = [too_long(PATH, MAX_GATE_BYTES)] if len(gate.encode()) > MAX_GATE_BYTES else []
    host, slash, path = gate.partition("/")
    if not (host and slash and path):
        return [*errors, invalid(PATH, gate, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors += [invalid(PATH, host, message) for message in formats.dns_subdomain(host)]
    return errors + [invalid(PATH, path, message) for message in formats.http_path(path)]

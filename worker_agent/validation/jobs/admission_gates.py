"""Annotation admission-gated-by: controllers that must agree before a Workload is queued (spec/engine 22.1)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.field_error import FieldError, forbidden, invalid, too_long
from worker_agent.api.kube_names import domain_prefixed_path_errors

PATH: Final = f"metadata.annotations[{names.ADMISSION_GATED_BY_ANNOTATION}]"
LONGEST_GATE: Final = 63


def of(document: Document) -> str:
    """The annotation's text; empty when there is none."""
    return str(at(document, ("metadata", "annotations", names.ADMISSION_GATED_BY_ANNOTATION), ""))


def gates(text: str) -> list[str]:
    """The names, blanks around them removed; none in an empty text."""
    return [gate.strip() for gate in text.split(",")] if text else []


def format_errors(document: Document) -> list[FieldError]:
    """Every gate is a domain-prefixed path of at most 63 characters, named once."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for gate in gates(of(document)):
        if not gate:
            errors.append(invalid(PATH, of(document), "cannot contain empty gate names"))
            continue
        if gate in seen:
            errors.append(invalid(PATH, of(document), f"duplicate gate name: {gate}"))
        seen.add(gate)
        if len(gate) > LONGEST_GATE:
            errors.append(too_long(PATH, gate, LONGEST_GATE))
        errors += domain_prefixed_path_errors(PATH, gate)
    return errors


def update_errors(new: Document, old: Document) -> list[FieldError]:
    """Gates may only go: what was queued once is not gated later."""
    before, after = set(gates(of(old))), set(gates(of(new)))
    if after and not before:
        return [forbidden(PATH, "cannot add admission gate after creation")]
    if after - before:
        return [forbidden(PATH, "can only remove gates, not add new ones")]
    return []

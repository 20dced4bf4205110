"""webhooks/: Kueue's own types through our validation, error by error (conformance/README, "jobs/" and "webhooks/")."""

from collections.abc import Iterable

from tests.conformance import comparison
from tests.conformance.case import Document
from worker_agent.validation import FieldError, ValidationPolicy, registry

ARTEFACT = "<address>"
"""Stands in recorded details where the recorded program printed a memory address."""


def run(case: Document, *, details: bool = False) -> list[str]:
    """What differs in the multiset of (type, field), and in the words too if ``details``."""
    new, old = case["object"], case.get("oldObject")
    group, _, _ = new["apiVersion"].rpartition("/")
    policy = ValidationPolicy.from_gates(case["featureGates"])
    found = registry[group, new["kind"]].validate(new, old, policy)
    return compare_errors(case["expect"]["errors"], found, details=details)


def compare_errors(expected: Iterable[Document], found: Iterable[FieldError], *, details: bool = False) -> list[str]:
    """Differences of recorded and found errors. The recorded words are advice, unless ``details`` asks for them."""
    wanted = [error for entry in expected for error in entry["fieldErrors"]]
    blanked = {(error["type"], error["field"]) for error in wanted if ARTEFACT in error["detail"]}

    def shown(kind: str, field: str, detail: str) -> tuple[str, ...]:
        return (kind, field, detail) if details and (kind, field) not in blanked else (kind, field)

    recorded = [shown(error["type"], error["field"], error["detail"]) for error in wanted]
    return comparison.multiset(recorded, [shown(e.type.value, e.field, e.detail) for e in found], "error")


RUNNERS = {"webhooks.TestValidate*": run}

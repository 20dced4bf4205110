"""Cohort: what the webhook checks beyond the schema (spec/engine 2.2). Cycles are permitted and stop their queues."""

from worker_agent.api.document import Document, get
from worker_agent.validation import resource_groups
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.policy import ValidationPolicy


def validate_cohort(new: Document, old: Document | None, policy: ValidationPolicy) -> list[FieldError]:
    """All violations. A cohort may lend more than its own quota: what it borrows from above passes through."""
    owner = resource_groups.Owner(bool(get(new, "spec.parentName")), "parent", lending_within_nominal=False)
    errors = resource_groups.validate(get(new, "spec.resourceGroups") or [], owner)
    return errors + resource_groups.fair_sharing(get(new, "spec.fairSharing"))

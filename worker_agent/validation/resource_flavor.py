"""ResourceFlavor: what the webhook checks beyond the schema (spec/engine 2.3)."""

from worker_agent.api.document import Document, get
from worker_agent.validation import finalizers, metadata
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.policy import ValidationPolicy


def default_resource_flavor(document: Document, policy: ValidationPolicy) -> Document:
    """The document with the finalizer that keeps a flavor while queues list it."""
    return finalizers.with_in_use(document)


def validate_resource_flavor(new: Document, old: Document | None, policy: ValidationPolicy) -> list[FieldError]:
    """Labels, taints and toleration keys; operators and effects are the schema's."""
    errors = metadata.labels(get(new, "spec.nodeLabels"), "spec.nodeLabels")
    errors += metadata.taints(get(new, "spec.nodeTaints") or (), "spec.nodeTaints")
    return errors + metadata.tolerations(get(new, "spec.tolerations") or (), "spec.tolerations")

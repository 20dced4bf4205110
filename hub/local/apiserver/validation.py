"""All faults of a document before it is stored: its type's (with its metadata's), and the few rules beside."""

from hub.local.apiserver import crd_strategy
from hub.local.apiserver.call import Call
from hub.local.apiserver.resources import CRDS
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document


def faults(call: Call, document: Document, old: Document | None) -> list[FieldError]:
    """``old`` is None for a creation."""
    found = list(call.schemas.validate(call.gvk, document, old, call.target.subresource))
    if call.resource.store == CRDS:
        found += crd_strategy.faults(document)
    return found

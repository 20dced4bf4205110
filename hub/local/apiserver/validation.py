"""All faults of a document before it is stored: its type's (with its metadata's), and the few rules beside."""

from hub.local.apiserver import crd_strategy
from hub.local.apiserver.call import Call
from hub.local.apiserver.resources import CRDS
from hub.local.apiserver.schema.field_errors import OMITTED, FieldError, invalid
from worker_agent.api.document import Document


def faults(call: Call, document: Document, old: Document | None) -> list[FieldError]:
    """``old`` is None for a creation."""
    found = list(call.schemas.validate(call.gvk, document, old, call.target.subresource))
    if call.resource.store == CRDS:
        found += crd_strategy.faults(document, new=old is None)
        if old is not None:
            found += crd_strategy.changes(document, old)
        if not found:
            found += _compiles(call, document)
    if not found and not call.target.subresource:
        for text in call.schemas.warnings(call.gvk, document, old):
            call.warn(text)
    return found


def _compiles(call: Call, crd: Document) -> list[FieldError]:
    """Whether the schemas can be put to use. They are tried and put back: the write may yet be refused."""
    try:
        call.schemas.add_crd(crd)
    except ValueError as error:
        return [invalid("spec.versions", OMITTED, str(error))]
    present = call.state.get(CRDS, "", crd["metadata"]["name"])
    if present is None:
        call.schemas.remove_crd(crd)
    else:
        call.schemas.add_crd(present.document())
    return []

"""The one place where a write becomes fact: document in, stored bytes and an event out, then what follows at once."""

from hub.local.apiserver import conversion, crds, event_versions
from hub.local.apiserver.answer import Answer, json_answer
from hub.local.apiserver.call import Call, Steps
from hub.local.apiserver.fields import known_fields
from hub.local.apiserver.reading import shown, table_of
from hub.local.apiserver.resources import CRDS, Resource
from hub.local.apiserver.store import State, Stored
from worker_agent.api.document import Document


def store(state: State, resource: Resource, document: Document) -> Stored:
    """Write the document; a CRD changes what is served at the same moment."""
    kept = event_versions.kept(resource, document)
    fields = known_fields(storage_view(state, resource), kept)
    how = state.conversions.get(resource.store)
    return state.put(resource.store, kept, fields, "" if how is None else how.storage)


def storage_view(state: State, resource: Resource) -> Resource:
    """The version whose field names the kept document has."""
    differs = resource.translated or event_versions.differs(resource)
    return state.resources.of_store(resource.store)[0] if differs else resource


def commit(call: Call, document: Document, status: int) -> Steps:
    """Store what a request wrote and show it."""
    stored = store(call.state, call.resource, document if call.kept is None else call.kept)
    yield from conversion.ready(call, [stored])
    answer = shown(call, stored, status)
    if call.resource.store == CRDS:
        crds.follow(call.state, call.schemas, stored, call.now)
    return answer


def rehearsed(call: Call, document: Document, status: int) -> Steps:
    """What a dry run shows: the object as it would be, with the revision it has now (none when new)."""
    return unstored(call, (yield from conversion.rehearsed(call, document)), status)


def unstored(call: Call, document: Document, status: int) -> Answer:
    """A document that is not in the store (any more) in the form the client accepts."""
    if call.form.kind == "table":
        return json_answer(table_of(call, [document]), status)
    return json_answer(document, status)

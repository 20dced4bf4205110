"""create: a new object from a request body, or from an apply or PUT that found none.

Order as in k8s.io/apiserver: ownership of fields is noted on what the client sent, then mutating admission, then the
server's own part (names, status, generation), validation, validating admission, and only then the name is looked up.
"""

from collections.abc import Generator

from hub.local.apiserver import (
    admission,
    body,
    commit,
    conversion,
    failure,
    metadata,
    strategy,
    validation,
    write_options,
)
from hub.local.apiserver.call import Call, Steps
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from worker_agent.api.document import Document

_ATTEMPTS = 8
"""Names tried for generateName (apiserver: RetryGenerateName)."""


def create(call: Call) -> Steps:
    """POST to a collection."""
    document = body.read_object(call)
    document["metadata"] = dict(document["metadata"])
    metadata.place(call, document)
    metadata.drop_given(document)
    manager = write_options.manager(call)
    owned = call.schemas.managed_fields_after_update(call.gvk, document, None, manager, "", call.now)
    if owned:
        document["metadata"]["managedFields"] = owned
    return (yield from create_document(call, document))


def create_document(call: Call, document: Document) -> Steps:
    """Store a new object whose field ownership is noted already. Answers 201."""
    dry = write_options.dry_run(call)
    generated = not document["metadata"].get("name") and bool(document["metadata"].get("generateName"))
    for attempt in range(_ATTEMPTS):
        made = yield from _prepared(call, {**document, "metadata": dict(document["metadata"])}, dry)
        name = made["metadata"]["name"]
        resource = call.resource
        present = call.state.get(resource.store, call.target.namespace, name)
        if present is None:
            strategy.as_read(resource, made)
            finish = commit.rehearsed if dry else commit.commit
            return (yield from finish(call, made, 201))
        if not generated:
            raise failure.already_exists(resource.group, resource.plural, name, going=present.deleting)
        if attempt == _ATTEMPTS - 1:
            raise failure.generated_name_exists(resource.group, resource.plural, name)
    raise AssertionError("unreachable")


def _prepared(call: Call, document: Document, dry: bool) -> Generator[WebhookCall, WebhookAnswer, Document]:
    resource = call.resource
    given = document["metadata"].get("name") or ""
    admission.check_namespace(call, given)
    request = admission.Admission("CREATE", given, document, None, dry)
    document = yield from admission.mutate(call, request)
    metadata.fill_new(call, document)
    strategy.prepare_new(call, document)
    if faults := validation.faults(call, document, None):
        raise failure.invalid(resource.group, resource.kind, document["metadata"].get("name") or "", faults)
    name = document["metadata"]["name"]
    yield from admission.validate(call, admission.Admission("CREATE", name, document, None, dry))
    call.kept = yield from conversion.kept(call, document)
    # A webhook may have taken long: the namespace may be gone by now.
    admission.check_namespace(call, name)
    return document

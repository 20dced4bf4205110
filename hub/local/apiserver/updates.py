"""update: PUT and every kind of PATCH, on an object or on its status, finalizers or scale.

A change is a function from the object as it stands to the object as wished; it is called again when the object
changed while a webhook was asked, as the real server's GuaranteedUpdate does.
"""

from collections.abc import Callable, Generator

from hub.local.apiserver import (
    admission,
    body,
    commit,
    conversion,
    creation,
    deletion,
    failure,
    metadata,
    strategy,
    validation,
    write_options,
)
from hub.local.apiserver.call import Call, Steps, frozen_of
from hub.local.apiserver.reading import shown
from hub.local.apiserver.schema.field_errors import invalid
from hub.local.apiserver.store import Stored, object_key
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from worker_agent.api.document import Document

Change = Callable[[Document], Document]
"""What comes out may share parts with what goes in, which is not changed; its metadata is its own."""
_ATTEMPTS = 5


def replace(call: Call) -> Steps:
    """PUT."""
    given = body.read_object(call)
    target, resource = call.target, call.resource
    name = given["metadata"].get("name") or ""
    if name != target.name:
        if not name:
            why = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
            raise failure.bad_request(why)
        raise failure.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    given["metadata"] = dict(given["metadata"])
    metadata.place(call, given)
    manager = write_options.manager(call)

    def change(old: Document) -> Document:
        wished = {**given, "metadata": dict(given["metadata"])}
        return owned(call, wished, old, manager)

    if call.state.get(resource.store, target.namespace, target.name) is None:
        if not resource.create_on_update or target.subresource:
            raise failure.not_found(resource.group, resource.plural, target.name)
        wished = {**given, "metadata": dict(given["metadata"])}
        metadata.drop_given(wished)
        fields = call.schemas.managed_fields_after_update(call.gvk, wished, None, manager, "", call.now)
        wished["metadata"]["managedFields"] = fields
        return (yield from creation.create_document(call, wished))
    return (yield from apply_change(call, change))


def owned(call: Call, wished: Document, old: Document, manager: str) -> Document:
    """The wished object with the ownership of fields brought up to date."""
    fields = call.schemas.managed_fields_after_update(call.gvk, wished, old, manager, call.target.subresource, call.now)
    if fields:
        wished["metadata"]["managedFields"] = fields
    else:
        wished["metadata"].pop("managedFields", None)
    return wished


def apply_change(call: Call, change: Change) -> Steps:
    """Bring an existing object to what ``change`` makes of it. Answers 200 with the object as it is then."""
    dry = write_options.dry_run(call)
    for _ in range(_ATTEMPTS):
        stored = _existing(call)
        yield from conversion.ready(call, [stored])
        old = frozen_of(call.resource, stored)
        made = yield from _prepared(call, change(old), old, dry)
        # A webhook may have taken long. A revision the client gave is then refused in the next round.
        if _existing(call) is stored:
            return (yield from _finish(call, stored, made, old, dry))
    raise _conflict(call)


def _existing(call: Call) -> Stored:
    target, resource = call.target, call.resource
    stored = call.state.get(resource.store, target.namespace, target.name)
    if stored is None:
        raise failure.not_found(resource.group, resource.plural, target.name)
    return stored


def _conflict(call: Call) -> failure.Failure:
    return failure.conflict(call.resource.group, call.resource.plural, call.target.name)


def _prepared(
    call: Call, wished: Document, old: Document, dry: bool
) -> Generator[WebhookCall, WebhookAnswer, Document]:
    resource, name = call.resource, call.target.name
    _check_uid(call, wished, old)
    made = yield from admission.mutate(call, admission.Admission("UPDATE", name, wished, old, dry))
    _check_version(call, made, old)
    metadata.keep_old(made, old)
    strategy.prepare_changed(call, made, old)
    if faults := validation.faults(call, made, old):
        raise failure.invalid(resource.group, resource.kind, name, faults)
    yield from admission.validate(call, admission.Admission("UPDATE", name, made, old, dry))
    call.kept = yield from conversion.kept(call, made)
    return made


def _check_uid(call: Call, wished: Document, old: Document) -> None:
    """A uid in the body of a PUT is a precondition."""
    if call.target.verb != "update":
        return
    given, uid = wished["metadata"].get("uid") or "", old["metadata"]["uid"]
    if given and given != uid:
        raise precondition_failed(call, "UID", given, uid)


def precondition_failed(call: Call, what: str, given: str, found: str) -> failure.Failure:
    """The request was about an object with another ``what`` (UID, ResourceVersion) than there is under its name."""
    target, resource = call.target, call.resource
    group = f"{resource.group}/" if resource.custom else ""
    key = f"/registry/{group}{resource.plural}/{object_key(target.namespace, target.name)}"
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}"
    )
    return failure.conflict(resource.group, resource.plural, target.name, why)


def _check_version(call: Call, made: Document, old: Document) -> None:
    resource = call.resource
    given, current = made["metadata"].get("resourceVersion") or "", old["metadata"]["resourceVersion"]
    if not given:
        if not resource.unconditional_update or resource.custom:
            fault = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise failure.invalid(resource.group, resource.plural, call.target.name, [fault])
        made["metadata"]["resourceVersion"] = current
    elif given != current:
        if not given.isdigit():
            raise failure.unclassified(f'strconv.ParseUint: parsing "{given}": invalid syntax')
        raise _conflict(call)


def _finish(call: Call, stored: Stored, made: Document, old: Document, dry: bool) -> Steps:
    """Store a real change; leave an equal object alone; let a deleted object go when nothing holds it any more."""
    strategy.as_read(call.resource, made)
    if same(made, old):
        return shown(call, stored)
    if dry:
        return (yield from commit.rehearsed(call, made, 200))
    meta = made["metadata"]
    if meta.get("deletionTimestamp") and not deletion.held(call.resource, made):
        answer = commit.unstored(call, made, 200)
        deletion.remove(call, stored)
        return answer
    return (yield from commit.commit(call, made, 200))


def same(made: Document, old: Document) -> bool:
    """Equal but for the times of field ownership, which alone are no reason to write."""
    if made == old:
        return True
    if any(made.get(name) != old.get(name) for name in {*made, *old} - {"metadata"}):
        return False
    new, before = made["metadata"], old["metadata"]
    if any(new.get(name) != before.get(name) for name in {*new, *before} - {"managedFields"}):
        return False
    return _timeless(new.get("managedFields")) == _timeless(before.get("managedFields"))


def _timeless(entries: list[Document] | None) -> list[Document]:
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries or ()]

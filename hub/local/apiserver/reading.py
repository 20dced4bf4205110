"""get and list: current state, state as of a revision, pages, and the forms Table and PartialObjectMetadata."""

import base64
import binascii
from itertools import islice

import msgspec

from hub.local.apiserver import conversion, event_versions, failure, request_path, selection
from hub.local.apiserver.answer import Answer, json_answer, partial
from hub.local.apiserver.call import Call, Steps, bytes_of, document_of
from hub.local.apiserver.list_options import check_list
from hub.local.apiserver.store import Collection, Span, Stored, encode
from worker_agent.api.document import Document

_EXPIRED_LIST = "The resourceVersion for the provided list is too old."
_EXPIRED_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Token(msgspec.Struct):
    """A continue token as the real server makes them: the revision (-1: the current one) and the key to go on from."""

    v: str
    rv: int
    start: str


def find(call: Call) -> Stored:
    """The object of the call's path; raises NotFound."""
    target = call.target
    stored = call.state.get(target.resource.store, target.namespace, target.name)
    if stored is None:
        raise failure.not_found(target.resource.group, target.resource.plural, target.name)
    return stored


def get(call: Call) -> Steps:
    """One object, not older than an asked resourceVersion."""
    wanted = request_path.revision(call.query)
    if wanted is not None and wanted > call.state.version:
        raise failure.too_large(wanted, call.state.version)
    stored = find(call)
    yield from conversion.ready(call, [stored])
    return shown(call, stored)


def shown(call: Call, stored: Stored, status: int = 200) -> Answer:
    """One stored object in the form the client accepts."""
    if call.form.kind == "object":
        return Answer(status, bytes_of(call.resource, stored))
    document = document_of(call.resource, stored)
    if call.form.kind == "partial":
        return json_answer(partial(document), status)
    table = table_of(call, [document])
    table["metadata"] = {"resourceVersion": str(stored.version)}
    return json_answer(table, status)


def table_of(call: Call, documents: list[Document]) -> Document:
    """A Table whose rows carry what the client wants of their objects."""
    table = call.schemas.table(call.gvk, documents, call.now)
    for row, document in zip(table["rows"], documents, strict=True):
        if call.form.include == "Object":
            row["object"] = document
        elif call.form.include == "None":
            row["object"] = None
        else:
            row["object"] = partial(document)
    return table


def list_objects(call: Call) -> Steps:
    """A page of a collection, or all of it."""
    check_list(call)
    chosen = selection.select(call.resource, call.target.namespace, call.target.name, call.query)
    limit = request_path.number(call.query, "limit") or 0
    collection = call.state.collection(call.resource.store)
    span = _span(call, collection, chosen)
    candidates = collection.between(span)
    matching = candidates if chosen.everything else (found for found in candidates if chosen.matches(found))
    metadata: Document = {"resourceVersion": str(span.version)}
    if call.resource.custom and call.form.kind == "object":
        metadata["continue"] = ""  # the real server's lists of custom kinds always have it
    if limit > 0:
        page = list(islice(matching, limit))
        following = next(matching, None)
        if following is not None:
            metadata["continue"] = _token(span.version, page[-1])
            if not chosen.name and not chosen.labels and not chosen.fields:
                metadata["remainingItemCount"] = collection.count(span._replace(first=page[-1].key, after=True))
    else:
        page = list(matching)
    yield from conversion.ready(call, page)
    return _list_answer(call, metadata, page)


def _span(call: Call, collection: Collection, chosen: selection.Selection) -> Span:
    state = call.state
    first, last = (f"{chosen.namespace}/", f"{chosen.namespace}0") if chosen.namespace else (None, None)
    if text := call.query.get("continue", ""):
        token = _read_token(text, chosen.namespace)
        if token.rv > 0 and token.rv < collection.oldest:
            raise failure.expired(_EXPIRED_PAGE)
        return Span(state.version if token.rv < 0 else token.rv, token.start, last, after=True)
    wanted = request_path.revision(call.query)
    if wanted is not None and wanted > state.version:
        raise failure.too_large(wanted, state.version)
    match = call.query.get("resourceVersionMatch", "")
    exact = match == "Exact" or (not match and wanted and call.query.get("limit", "0") not in ("", "0"))
    if exact and wanted:
        if wanted < collection.oldest:
            raise failure.expired(_EXPIRED_LIST)
        return Span(wanted, first, last)
    return Span(state.version, first, last)


def _token(version: int, last: Stored) -> str:
    token = Token("meta.k8s.io/v1", version, f"{last.key}\0")
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read_token(text: str, namespace: str) -> Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=Token)
    except (binascii.Error, msgspec.DecodeError, ValueError):
        raise failure.bad_request("invalid continue token: continue key is not valid: unreadable") from None
    token.start = token.start.rstrip("\0")
    if (
        token.v != "meta.k8s.io/v1"
        or not token.start
        or not token.start.startswith(f"{namespace}/" if namespace else "")
    ):
        raise failure.bad_request("invalid continue token: continue key is not valid: it belongs to another list")
    return token


def _list_answer(call: Call, metadata: Document, page: list[Stored]) -> Answer:
    resource = call.resource
    if call.form.kind == "table":
        table = table_of(call, [document_of(resource, stored) for stored in page])
        table["metadata"] = metadata
        return json_answer(table)
    if call.form.kind == "partial":
        items = [partial(document_of(resource, stored)) for stored in page] or None  # Go's nil slice
        return json_answer(
            {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items}
        )
    return Answer(200, encoded_list(call, metadata, page))


def encoded_list(call: Call, metadata: Document, page: list[Stored]) -> bytes:
    """The list object by splicing: items of built-in kinds leave kind and apiVersion out, custom ones keep them."""
    resource = call.resource
    opening = b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[' % (
        resource.list_kind.encode(),
        resource.api_version.encode(),
        encode(metadata),
    )
    if event_versions.differs(resource):
        bodies = [encode(event_versions.shown(resource, stored.document())) for stored in page]
        return b"".join((opening, b",".join(bodies), b"]}"))
    head = resource.head if resource.custom else b"{"
    if not page:
        return opening + b"]}"
    joined = (b"," + head).join([stored.seen(resource.version) for stored in page])
    return b"".join((opening, head, joined, b"]}"))

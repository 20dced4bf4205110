"""Objects of a kind with several versions, shown in another version than the one they are kept in.

With strategy None only apiVersion differs and nothing here is asked. With strategy Webhook the owner of the kind
converts: ``kept`` before a write, ``ready`` before a read; what came back stays with the stored object. A definition
that changed since an object was written shows there too: fields that are unknown now go and new defaults appear.

Source: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from hub.local.apiserver import failure, webhooks
from hub.local.apiserver.call import Call
from hub.local.apiserver.metadata import new_uid
from hub.local.apiserver.schemas import GVK
from hub.local.apiserver.store import State, Stored
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from worker_agent.api import document as documents
from worker_agent.api.document import Document

_TIMEOUT_SECONDS = 30.0
_API_VERSION = "apiextensions.k8s.io/v1"
Asking = Generator[WebhookCall, WebhookAnswer, None]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the objects of one definition are kept: in which version, and who converts them (None: nobody has to).

    Objects not written after the revision ``since`` were written under another schema.
    """

    group: str
    kind: str
    storage: str
    client: Document | None
    schemas: Mapping[str, Any]
    since: int = 0

    @classmethod
    def of_crd(cls, crd: Document) -> "Conversion":
        spec = crd["spec"]
        conversion = spec.get("conversion") or {}
        client = documents.get(conversion, "webhook.clientConfig") if conversion.get("strategy") == "Webhook" else None
        storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
        schemas = {version["name"]: version.get("schema") for version in spec["versions"]}
        return cls(spec["group"], spec["names"]["kind"], storage, client, schemas)

    @property
    def translates(self) -> bool:
        """Whether a stored object may differ from what a version shows."""
        return self.client is not None or self.since > 0

    def lacks(self, stored: Stored, version: str) -> bool:
        """Whether the object has to be worked on before it can be shown in a version."""
        if stored.views is not None and version in stored.views:
            return False
        return stored.version <= self.since or self.is_foreign(stored, version)

    def is_foreign(self, stored: Stored, version: str) -> bool:
        return self.client is not None and stored.form not in ("", version)


def renew(state: State, store: str, conversion: Conversion) -> Conversion:
    """Take note of a definition: what was made of its objects under an older one is made anew."""
    before = state.conversions.get(store)
    if before is not None:
        conversion = replace(conversion, since=before.since)
        objects = state.collection(store).objects
        if objects and before != conversion:
            since = before.since if before.schemas == conversion.schemas else state.version
            conversion = replace(conversion, since=since)
            for stored in objects.values():
                stored.views = None
    state.conversions[store] = conversion
    return conversion


def resume(state: State, store: str, version: int) -> bool:
    """After a restart: whether objects are older than their definition, which was last written at ``version``."""
    before: Conversion = state.conversions[store]
    older = any(stored.version <= version for stored in state.collection(store).objects.values())
    if older:
        state.conversions[store] = replace(before, since=version)
    return older


def ready(call: Call, objects: Iterable[Stored]) -> Asking:
    """Return when all the objects can be shown in the call's version."""
    resource = call.resource
    if not resource.translated:
        return
    conversion = call.state.conversions[resource.store]
    lacking = [stored for stored in objects if conversion.lacks(stored, resource.version)]
    if not lacking:
        return
    found = [_conformed(call, _document(conversion, stored), stored.form or conversion.storage) for stored in lacking]
    foreign = [index for index, stored in enumerate(lacking) if conversion.is_foreign(stored, resource.version)]
    if foreign:
        converted = yield from convert(call, [found[index] for index in foreign], resource.version)
        for index, document in zip(foreign, converted, strict=True):
            found[index] = document
    for stored, document in zip(lacking, found, strict=True):
        stored.show_as(resource.version, document)


def _document(conversion: Conversion, stored: Stored) -> Document:
    version = stored.form or conversion.storage
    return {"apiVersion": f"{conversion.group}/{version}", "kind": conversion.kind, **stored.document()}


def _conformed(call: Call, document: Document, version: str) -> Document:
    """A document as the schema of the version it is in has it today."""
    gvk = GVK(call.resource.group, version, call.resource.kind)
    return call.schemas.default(gvk, _pruned(call, document, version))


def _pruned(call: Call, document: Document, version: str) -> Document:
    return call.schemas.prune(GVK(call.resource.group, version, call.resource.kind), document)[0]


def rehearsed(call: Call, made: Document) -> Generator[WebhookCall, WebhookAnswer, Document]:
    """A document of the call's version as it would come back from the store."""
    there = yield from kept(call, made)
    if there is made:
        return made
    version = call.state.conversions[call.resource.store].storage
    (back,) = yield from convert(
        call, [{**there, "apiVersion": f"{call.resource.group}/{version}"}], call.resource.version
    )
    return back


def kept(call: Call, made: Document) -> Generator[WebhookCall, WebhookAnswer, Document]:
    """A document of the call's version as it is kept."""
    conversion = call.state.conversions.get(call.resource.store) if call.resource.translated else None
    if conversion is None or conversion.client is None or conversion.storage == call.resource.version:
        return made
    (document,) = yield from convert(call, [made], conversion.storage)
    return _conformed(call, document, conversion.storage)


def convert(
    call: Call, objects: Sequence[Document], version: str
) -> Generator[WebhookCall, WebhookAnswer, list[Document]]:
    """Documents of one kind as its webhook shows them in another version."""
    conversion = call.state.conversions[call.resource.store]
    assert conversion.client is not None
    wanted = f"{conversion.group}/{version}"
    uid = new_uid(call.state.entropy)
    request = {"uid": uid, "desiredAPIVersion": wanted, "objects": list(objects)}
    review = {"kind": "ConversionReview", "apiVersion": _API_VERSION, "request": request}
    answer = yield webhooks.to_client(call.resource.plural, conversion.client, review, _TIMEOUT_SECONDS)
    what = f"conversion webhook for {objects[0]['apiVersion']}, Kind={conversion.kind}"
    try:
        found = _converted_objects(answer, uid)
    except _BadAnswer as problem:
        raise failure.unclassified(f"{what} failed: {problem}") from None
    if len(found) != len(objects):
        raise failure.unclassified(f"{what} returned {len(found)} objects, expected {len(objects)}")
    made = []
    for index, (before, after) in enumerate(zip(objects, found, strict=True)):
        if why := _fault(before, after, wanted):
            raise failure.unclassified(f"{what} returned invalid object at index {index}: {why}")
        if why := _other_identity(before, after):
            raise failure.unclassified(f"{what} returned invalid object: {why}")
        made.append(_pruned(call, _with_old_metadata(before, after), version))
    return made


class _BadAnswer(Exception):
    """The webhook could not be asked, or its answer is none."""


def _converted_objects(answer: WebhookAnswer, uid: str) -> list[Document]:
    if answer.review is None:
        raise _BadAnswer(answer.error)
    review = answer.review
    if review.get("kind") != "ConversionReview" or review.get("apiVersion") != _API_VERSION:
        got = f"{review.get('apiVersion', '')}, Kind={review.get('kind', '')}"
        raise _BadAnswer(f"expected webhook response of {_API_VERSION}, Kind=ConversionReview, got {got}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise _BadAnswer("no response provided")
    if response.get("uid") != uid:
        raise _BadAnswer(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        raise _BadAnswer(result.get("message") or f"response.result.status was '{status}', not 'Success'")
    return cast(list[Document], response.get("convertedObjects") or [])


def _fault(before: Document, after: Document, wanted: str) -> str:
    """What makes a converted object another one; empty when nothing does."""
    if after.get("apiVersion") != wanted:
        return f"invalid groupVersion (expected {wanted}, received {after.get('apiVersion', '')})"
    if after.get("kind") != before["kind"]:
        return f"invalid kind (expected {before['kind']}, received {after.get('kind', '')})"
    return ""


def _other_identity(before: Document, after: Document) -> str:
    old, new = before["metadata"], after.get("metadata") or {}
    for name, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if old.get(name, "") != new.get(name, ""):
            return f"must have the same {word}: {old.get(name, '')} != {new.get(name, '')}"
    return ""


def _with_old_metadata(before: Document, after: Document) -> Document:
    """Of metadata a webhook may change labels and annotations only."""
    metadata = {name: value for name, value in before["metadata"].items() if name not in ("labels", "annotations")}
    for name in ("labels", "annotations"):
        if after["metadata"].get(name):
            metadata[name] = after["metadata"][name]
    return {**after, "metadata": metadata}

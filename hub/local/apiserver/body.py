"""The body of a write, read: JSON or YAML in, a pruned and defaulted document of the right kind out.

Wording: k8s.io/apiserver pkg/endpoints/handlers/{create,update,rest}.go.
"""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from hub.local.apiserver import crd_strategy, failure, go_json, protobuf
from hub.local.apiserver.answer import ACCEPTED, JSON
from hub.local.apiserver.call import Call
from hub.local.apiserver.resources import CRDS
from hub.local.apiserver.schema.field_errors import invalid, not_supported
from hub.local.apiserver.schema.go_decoding import DecodeError
from hub.local.apiserver.schemas import GVK
from hub.local.apiserver.store import decode
from worker_agent.api.document import Document

_YAML = ("application/yaml", "application/x-yaml", "text/yaml")
_SCHEME = "pkg/runtime/scheme.go:111"
_DIRECTIVES = ("Ignore", "Warn", "Strict")


def media_type(call: Call) -> str:
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower() or JSON


def read_object(call: Call) -> Document:
    """The object of a create or update. Unknown and repeated fields are refused, warned of or dropped, as asked."""
    media = media_type(call)
    if media not in (JSON, protobuf.MEDIA_TYPE) and media not in _YAML:
        raise failure.unsupported_media_type(ACCEPTED)
    document, repeated = _parse(call, media)
    if not isinstance(document, dict):
        raise failure.bad_request(unreadable(call.resource.kind, call.request.body, _not_an_object(document)))
    _check_kind(call, document)
    return conform(call, document, [f'duplicate field "{path}"' for path in repeated])


def read_plain(call: Call, kind: str) -> Document:
    """The body of a request about no stored type (a review, a Binding, a Scale), with nothing added or dropped."""
    try:
        document = _decoded(call.request.body, media_type(call))
    except (ValueError, yaml.YAMLError) as error:
        raise failure.bad_request(unreadable(kind, call.request.body, error)) from None
    if not isinstance(document, dict):
        raise failure.bad_request(unreadable(kind, call.request.body, _not_an_object(document)))
    return document


def _decoded(body: bytes, media: str) -> Any:
    if media == protobuf.MEDIA_TYPE:
        return protobuf.read(body)
    return json_values(yaml.safe_load(body)) if media in _YAML else decode(body)


def _parse(call: Call, media: str) -> tuple[Any, list[str]]:
    """The document, and the paths of fields it names more than once (looked for when the client asked)."""
    body = call.request.body
    try:
        if media == JSON and directive(call) != "Ignore" and "fieldValidation" in call.query:
            document = json.loads(body, object_pairs_hook=_noting)
            return document, list(_repeats(document))
        return _decoded(body, media), []
    except (ValueError, yaml.YAMLError) as error:
        raise failure.bad_request(unreadable(call.resource.kind, body, error)) from None


def unreadable(kind: str, body: bytes, error: Exception) -> str:
    """What is said of a body that cannot be read at all."""
    what = f"the object provided is unrecognized (must be of type {kind})"
    return (
        f"{what}: couldn't get version/kind; json parse error: {json_complaint(body, error)} ({go_json.summary(body)})"
    )


def json_complaint(body: bytes, error: Exception) -> str:
    """Go's words for malformed JSON, else the error's own."""
    return go_json.complaint(body) or str(error)


def _not_an_object(document: Any) -> ValueError:
    wanted = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
    return ValueError(f"json: cannot unmarshal {json_kind(document)} into Go value of type {wanted}")


def json_values(value: Any) -> Any:
    """YAML's dates as the text JSON would have."""
    if isinstance(value, dict):
        return {str(key): json_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_values(item) for item in value]
    if hasattr(value, "isoformat"):
        return value.isoformat().replace("+00:00", "Z")
    return value


class _Repeating(dict[str, Any]):
    """An object whose text named ``repeated`` more than once."""

    repeated: tuple[str, ...] = ()


def _noting(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    noted = _Repeating(found)
    names = [name for name, _ in pairs]
    noted.repeated = tuple(name for name in found if names.count(name) > 1)
    return noted


def _repeats(value: Any, path: str = "") -> Iterator[str]:
    """Paths of repeated fields."""
    if isinstance(value, dict):
        below = f"{path}." if path else ""
        if isinstance(value, _Repeating):
            yield from (f"{below}{name}" for name in value.repeated)
        for name, item in value.items():
            yield from _repeats(item, f"{below}{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeats(item, f"{path}[{index}]")


def _check_kind(call: Call, document: Document) -> None:
    resource = call.resource
    version, kind = document.get("apiVersion"), document.get("kind")
    if resource.custom:
        _check_custom(call, document)
    if not resource.custom:
        version, kind = version or resource.api_version, kind or resource.kind
    if (version, kind) != (resource.api_version, resource.kind):
        raise failure.bad_request(_mismatch(call, version or "", kind or ""))
    document["apiVersion"], document["kind"] = version, kind


def _check_custom(call: Call, document: Document) -> None:
    """Custom resources say themselves what they are."""
    kind, text = document.get("kind"), call.request.body
    if not kind:
        why = f"Object 'Kind' is missing in '{text.decode(errors='replace')}' ({go_json.summary(text)})"
        raise failure.bad_request(f"the object provided is unrecognized (must be of type {call.resource.kind}): {why}")
    if kind != call.resource.kind:
        name = (document.get("metadata") or {}).get("name") or ""
        fault = invalid("kind", kind, f"must be {call.resource.kind}")
        raise failure.invalid(call.resource.group, str(kind), name, [fault])


def _mismatch(call: Call, api_version: str, kind: str) -> str:
    """Why a body of another kind or version is refused."""
    resource = call.resource
    if resource.custom and kind == resource.kind:
        expected = resource.api_version
        return f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
    version = api_version.rpartition("/")[2]
    known = call.state.resources.of_kind(api_version, kind)
    if known is not None and known.version == version:
        why = f"converting ({version}.{kind}) to ({_package(resource.group)}.{resource.kind}): unknown conversion"
    else:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
    return f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}'


def _package(group: str) -> str:
    """The Go package of a group's internal types."""
    return group.partition(".")[0] or "core"


def directive(call: Call) -> str:
    """Strict, Warn or Ignore."""
    chosen = call.query.get("fieldValidation") or "Warn"
    if chosen not in _DIRECTIVES:
        fault = not_supported("fieldValidation", chosen, ["", "Ignore", "Strict", "Warn"])
        raise failure.invalid("meta.k8s.io", f"{call.target.verb.capitalize()}Options", "", [fault])
    return chosen


def conform(call: Call, document: Document, complaints: list[str]) -> Document:
    """The document without unknown fields and with defaults."""
    return defaulted(call, without_unknown(call, document, complaints))


def defaulted(call: Call, document: Document) -> Document:
    """The document with the defaults of its type."""
    return completed(call, call.schemas.default(call.gvk, document))


def completed(call: Call, filled: Document) -> Document:
    """The same of a document in which its schema's defaults are filled: those that are beyond a schema."""
    if call.resource.store != CRDS:
        return filled
    filled = dict(filled)
    crd_strategy.complete(filled)
    return filled


def without_unknown(call: Call, document: Document, complaints: list[str]) -> Document:
    """The document without unknown fields; complaints are refused, warned of or ignored as the client asked."""
    try:
        found = strict_complaints(call, document)
    except DecodeError as problem:
        kind, version = call.resource.kind, call.resource.version
        text = f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
        raise failure.bad_request(text) from None
    document, complaints = found[0], complaints + found[1]
    if not complaints:
        return document
    chosen = directive(call)
    if chosen == "Strict":
        resource = call.resource
        raise failure.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(complaints)}"
        )
    if chosen == "Warn":
        for complaint in complaints:
            call.warn(complaint)
    return document


def strict_complaints(call: Call, document: Document) -> tuple[Document, list[str]]:
    """The document pruned, and what a strict decoder says of it."""
    gvk: GVK = call.gvk
    pruned, unknown = call.schemas.prune(gvk, document)
    metadata = pruned.get("metadata")
    if metadata is None:
        pruned = {**pruned, "metadata": {}}
    elif not isinstance(metadata, dict):
        raise failure.bad_request(
            f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: '
            f"json: cannot unmarshal {json_kind(metadata)} into Go struct field {gvk.kind}.metadata "
            "of type v1.ObjectMeta"
        )
    return pruned, [f'unknown field "{path}"' for path in unknown]


def json_kind(value: Any) -> str:
    """Go's word for a JSON value's type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"

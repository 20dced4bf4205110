"""AdmissionReview in, AdmissionReview out: what the API server asks of a webhook, and the answer in its own form.

Refusals are worded as controller-runtime words them: status 403, reason Forbidden, the aggregate of all violations as
the message, to which the API server adds which webhook spoke.
"""

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from worker_agent.api.document import Document
from worker_agent.webhooks import object_patch

REVIEW_VERSION = "admission.k8s.io/v1"
LONGEST_QUOTE = 200
"""Characters of a request that an answer repeats."""

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Review:
    """One question: ``operation`` is CREATE, UPDATE, DELETE or CONNECT; ``object`` is None on DELETE."""

    uid: str
    operation: str
    namespace: str
    name: str
    object: Document | None
    old_object: Document | None
    subresource: str = ""
    user: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer: allowed with a changed object, or refused with the violations."""

    object: Document | None = None
    errors: Sequence[str] = ()
    warnings: Sequence[str] = field(default_factory=tuple)


Hook = Callable[[Review], Awaitable[Verdict]]


class ReviewError(ValueError):
    """The request is not an AdmissionReview; the text says what is wrong with it."""


def read(body: bytes) -> Review:
    """The question in a request body. Raises ReviewError."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReviewError(f"body is not JSON: {_short(error)}") from None
    except RecursionError:
        raise ReviewError("body is nested too deeply") from None
    if not isinstance(document, dict) or document.get("kind") != "AdmissionReview":
        raise ReviewError("body is not an AdmissionReview")
    if document.get("apiVersion") != REVIEW_VERSION:
        raise ReviewError(f"apiVersion {_short(document.get('apiVersion'))!r} is not served; use {REVIEW_VERSION}")
    request = _member(document, "request", dict)
    uid = _member(request, "uid", str)
    if not uid:
        raise ReviewError("AdmissionReview has no request with a uid")
    return Review(
        uid=uid,
        operation=_member(request, "operation", str),
        namespace=_member(request, "namespace", str),
        name=_member(request, "name", str),
        object=_member(request, "object", dict) or None,
        old_object=_member(request, "oldObject", dict) or None,
        subresource=_member(request, "subResource", str),
        user=_member(_member(request, "userInfo", dict), "username", str),
        dry_run=_member(request, "dryRun", bool),
    )


def _member(of: Document, name: str, type_: type[M]) -> M:
    """An empty value where it is absent or null. Raises ReviewError where it is of another type."""
    found = of.get(name)
    if found is None:
        return type_()
    if not isinstance(found, type_):
        raise ReviewError(f"{name} of the AdmissionReview is not of the type that the API has for it")
    return found


def _short(said: object) -> str:
    """What a caller said, as far as it helps him."""
    return str(said)[:LONGEST_QUOTE]


def answer(review: Review, verdict: Verdict) -> bytes:
    """The response body for a verdict."""
    response: Document = {"uid": review.uid, "allowed": not verdict.errors}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.errors:
        response["status"] = refusal(aggregate(verdict.errors))
    elif verdict.object is not None and (changes := object_patch.operations(review.object or {}, verdict.object)):
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(changes)).decode()
    return msgspec.json.encode({"apiVersion": REVIEW_VERSION, "kind": "AdmissionReview", "response": response})


def aggregate(errors: Sequence[str]) -> str:
    """Violations as Kubernetes joins them: one stands alone, several in brackets; each text once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def refusal(message: str, code: int = 403, reason: str = "Forbidden") -> Document:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }

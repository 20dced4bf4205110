"""AdmissionReview in, AdmissionReview out: what the API server asks of a webhook, and the answer in its own form.

Refusals are worded as controller-runtime words them: status 403, reason Forbidden, the aggregate of all violations as
the message, to which the API server adds which webhook spoke.
"""

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
import msgspec

from worker_agent.api.document import Document

REVIEW_VERSION = "admission.k8s.io/v1"


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
    except msgspec.DecodeError as error:
        raise ReviewError(f"body is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != "AdmissionReview":
        raise ReviewError("body is not an AdmissionReview")
    if document.get("apiVersion") != REVIEW_VERSION:
        raise ReviewError(f"apiVersion {document.get('apiVersion')!r} is not served; use {REVIEW_VERSION}")
    request = document.get("request")
    if not isinstance(request, dict) or not request.get("uid"):
        raise ReviewError("AdmissionReview has no request with a uid")
    return Review(
        uid=str(request["uid"]),
        operation=str(request.get("operation", "")),
        namespace=str(request.get("namespace", "")),
        name=str(request.get("name", "")),
        object=request.get("object") or None,
        old_object=request.get("oldObject") or None,
        subresource=str(request.get("subResource", "")),
        user=str((request.get("userInfo") or {}).get("username", "")),
        dry_run=bool(request.get("dryRun", False)),
    )


def answer(review: Review, verdict: Verdict) -> bytes:
    """The response body for a verdict."""
    response: Document = {"uid": review.uid, "allowed": not verdict.errors}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.errors:
        response["status"] = refusal(aggregate(verdict.errors))
    elif verdict.object is not None and verdict.object != review.object:
        operations: list[Any] = jsonpatch.make_patch(review.object or {}, verdict.object).patch
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(operations)).decode()
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

"""ConversionReview in, ConversionReview out: objects of Kueue's kinds in the version that the API server asks for.

Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/types_convert.go.
"""

from typing import Any, Final

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.versions.convert import ConversionError, convert
from worker_agent.webhooks.review import ReviewError

REVIEW_VERSION: Final = "apiextensions.k8s.io/v1"


def answer(body: bytes) -> bytes:
    """The response body for a request body: all objects converted, or why one could not be. Raises ReviewError."""
    request = _request(body)
    response: Document = {"uid": request["uid"]}
    try:
        response["convertedObjects"] = _converted(request)
        response["result"] = {"status": "Success"}
    except ConversionError as error:
        response["convertedObjects"] = []
        response["result"] = {"status": "Failure", "message": str(error)}
    return msgspec.json.encode({"apiVersion": REVIEW_VERSION, "kind": "ConversionReview", "response": response})


def _converted(request: Document) -> list[Document]:
    wanted = str(request.get("desiredAPIVersion", ""))
    objects = request.get("objects") or []
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise ConversionError("the objects to convert are not a list of objects")
    return [_answered(convert(item, wanted)) for item in objects]


def _answered(converted: Document) -> Document:
    """Without what is half of many objects: of metadata, API servers take only labels and annotations from answers."""
    metadata = converted.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return converted
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**converted, "metadata": kept}


def _request(body: bytes) -> Document:
    try:
        document: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"body is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != "ConversionReview":
        raise ReviewError("body is not a ConversionReview")
    if document.get("apiVersion") != REVIEW_VERSION:
        raise ReviewError(f"apiVersion {document.get('apiVersion')!r} is not served; use {REVIEW_VERSION}")
    request = document.get("request")
    if not isinstance(request, dict) or not request.get("uid"):
        raise ReviewError("ConversionReview has no request with a uid")
    return request

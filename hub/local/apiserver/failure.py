"""Refusals in the words of kube-apiserver: one exception that is a ``Status``, and a maker per reason.

Source of reasons and wording: k8s.io/apimachinery pkg/api/errors.
"""

from collections.abc import Sequence
from typing import Any

from hub.local.apiserver.schema.field_errors import FieldError, joined
from worker_agent.api.document import Document

OPTIMISTIC_LOCK = (
    "the object has been modified; please apply your changes to the latest version and try again"  # registry/store.go
)


class Failure(Exception):
    """A request refused. ``document()`` is the Status object that goes to the client."""

    def __init__(self, code: int, reason: str, message: str, details: Document | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def document(self) -> Document:
        status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def qualified(group: str, resource: str) -> str:
    """``jobs.batch``; core resources have no suffix."""
    return f"{resource}.{group}" if group else resource


def named(group: str, kind: str, name: str = "") -> Document:
    """The details that say which object; empty parts are left out."""
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def not_found(group: str, resource: str, name: str) -> Failure:
    return Failure(404, "NotFound", f'{qualified(group, resource)} "{name}" not found', named(group, resource, name))


def already_exists(group: str, resource: str, name: str, *, going: bool = False) -> Failure:
    """``going``: what is there is being deleted."""
    message = f'{"object is being deleted: " if going else ""}{qualified(group, resource)} "{name}" already exists'
    return Failure(409, "AlreadyExists", message, named(group, resource, name))


def generated_name_exists(group: str, resource: str, name: str) -> Failure:
    why = "already exists, the server was not able to generate a unique name for the object"
    message = f'{qualified(group, resource)} "{name}" {why}'
    return Failure(409, "AlreadyExists", message, {**named(group, resource, name), "retryAfterSeconds": 1})


def conflict(group: str, resource: str, name: str, why: str = OPTIMISTIC_LOCK) -> Failure:
    message = f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}'
    return Failure(409, "Conflict", message, named(group, resource, name))


def forbidden(group: str, resource: str, name: str, why: str) -> Failure:
    subject = f'{qualified(group, resource)} "{name}"' if name else qualified(group, resource)
    return Failure(403, "Forbidden", f"{subject} is forbidden: {why}", named(group, resource, name))


def invalid(group: str, kind: str, name: str, faults: Sequence[FieldError]) -> Failure:
    """422 with one cause for each fault."""
    details = named(group, kind, name)
    details["causes"] = [fault.cause() for fault in faults]
    return Failure(422, "Invalid", f'{qualified(group, kind)} "{name}" is invalid: {joined(faults)}', details)


def bad_request(message: str) -> Failure:
    return Failure(400, "BadRequest", message)


def unauthorized() -> Failure:
    return Failure(401, "Unauthorized", "Unauthorized")


def method_not_supported(group: str, resource: str, action: str) -> Failure:
    message = f'{action} is not supported on resources of kind "{qualified(group, resource)}"'
    return Failure(405, "MethodNotAllowed", message, named(group, resource))


def method_not_allowed() -> Failure:
    return Failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def no_such_resource() -> Failure:
    return Failure(404, "NotFound", "the server could not find the requested resource", {})


def not_implemented(what: str) -> Failure:
    return Failure(501, "NotImplemented", f"{what} is not supported by the embedded API server")


def expired(message: str) -> Failure:
    return Failure(410, "Expired", message)


def too_old(wanted: int, oldest: int) -> Failure:
    return expired(f"too old resource version: {wanted} ({oldest})")


def too_large(wanted: int, current: int) -> Failure:
    message = f"Too large resource version: {wanted}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Failure(504, "Timeout", f"Timeout: {message}", {"causes": [cause], "retryAfterSeconds": 1})


def unsupported_media_type(accepted: Sequence[str]) -> Failure:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return Failure(415, "UnsupportedMediaType", message)


def not_acceptable(*, watchable: bool) -> Failure:
    served = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
    if watchable:
        served += ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(served)}"
    return Failure(406, "NotAcceptable", message, {})


def no_such_media_type() -> Failure:
    """What the router of built-in kinds says of a body it has no reader for."""
    return Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def unclassified(message: str) -> Failure:
    """An error the real server has no reason for: code 500 and the bare message."""
    return Failure(500, "", message)


def internal(why: Any) -> Failure:
    message = f"Internal error occurred: {why}"
    return Failure(500, "InternalError", message, {"causes": [{"message": str(why)}]})


def success(group: str, resource: str, name: str, uid: str) -> Document:
    """The Status a deletion answers with when the object is gone at once."""
    details = {**named(group, resource, name), "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

"""What an API server answers when it refuses, as exceptions by kind of refusal.

A server that cannot be reached or stops talking is a ``ConnectionError`` instead: nothing is known about the outcome.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class ApiError(Exception):
    """A Status from the API server: ``reason`` is the machine word, ``message`` the text for people."""

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message or reason or f"HTTP {status}")
        self.status = status
        self.reason = reason
        self.message = message or reason or f"HTTP {status}"
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after


class BadRequest(ApiError):
    """400: the request cannot be understood; sending it again will not help."""


class Unauthorized(ApiError):
    """401: the credential is missing, wrong or out of date."""


class Forbidden(ApiError):
    """403: this identity may not do that, or an admission plugin refused."""


class NotFound(ApiError):
    """404: no such object, or no such resource served here."""


class Conflict(ApiError):
    """409: the object changed since it was read, or another field manager owns a field."""


class AlreadyExists(Conflict):
    """409 with reason AlreadyExists: create met an object of that name."""


class Gone(ApiError):
    """410: the resourceVersion or page is too old; list again."""


class Invalid(ApiError):
    """422: a field has a value that is not allowed; ``details.causes`` names each."""


class TooManyRequests(ApiError):
    """429: the server asks for a pause, nothing was done."""


class ServerError(ApiError):
    """5xx: the server failed; a write may or may not have happened."""


class ServerSilent(ConnectionError):
    """The server took the request and then said nothing for longer than the client waits."""


class MalformedAnswer(ConnectionError):
    """The answer is not what an API server sends (not JSON, no object in it); nothing can be concluded from it."""


def is_unreachable(error: BaseException | None) -> bool:
    """Whether no server was there at all: trying again costs nobody anything."""
    return isinstance(error, ConnectionError) and not isinstance(error, ServerSilent | MalformedAnswer)


class ReconcileError(Exception):
    """A decision could not be completed; its text says why. The controller tries again with back-off."""


class _Status(msgspec.Struct, omit_defaults=True):
    """The fields read from a metav1.Status."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
_status_decoder = msgspec.json.Decoder(_Status)


def from_body(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """The exception for an answer with ``status`` >= 400; the body may be a Status, other text, or empty.

    ``status`` 0 takes the code from the Status itself, as watch ERROR events carry it.
    """
    try:
        answer = _status_decoder.decode(body)
    except msgspec.DecodeError:
        answer = _Status(message=body[:500].decode("utf-8", "replace").strip())
    code = status or answer.code or 500
    kind = _BY_STATUS.get(code, ServerError if code >= 500 else ApiError)
    if code == 409 and answer.reason == "AlreadyExists":
        kind = AlreadyExists
    if answer.reason == "Expired":
        kind = Gone
    return kind(code, answer.reason, answer.message, answer.details, _retry_after(headers or {}, answer))


def _retry_after(headers: Mapping[str, str], answer: _Status) -> float | None:
    """Seconds the server asks to wait: the Retry-After header (not dates), else ``details.retryAfterSeconds``."""
    text = headers.get("retry-after") or (answer.details or {}).get("retryAfterSeconds")
    try:
        seconds = float(text) if text else None
    except (TypeError, ValueError):
        return None
    return seconds if seconds is not None and 0 <= seconds < 86400 else None

"""Options of writes, from the query or a DeleteOptions body, checked."""

from dataclasses import dataclass
from typing import Any

import msgspec

from hub.local.apiserver import body, failure, protobuf, request_path
from hub.local.apiserver.call import Call
from hub.local.apiserver.schema.field_errors import FieldError, invalid, not_supported
from hub.local.apiserver.store import decode

SCHEME = "pkg/runtime/scheme.go:111"
"""How the real server's messages name the place its kinds are registered."""
_POLICIES = ("Foreground", "Background", "Orphan")


def dry_run(call: Call) -> bool:
    """Whether nothing may be stored; the only value is All."""
    values = [value for name, value in call.request.query if name == "dryRun"]
    return _dry_run(values, f"{call.target.verb.capitalize()}Options")


def _dry_run(values: list[str], kind: str) -> bool:
    if any(value != "All" for value in values):
        raise failure.invalid("meta.k8s.io", kind, "", [not_supported("dryRun", values, ["All"])])
    return bool(values)


def manager(call: Call) -> str:
    """The field manager: as given, else the user agent up to its first slash."""
    given = call.query.get("fieldManager", "")
    if len(given.encode()) > 128:
        kind = f"{call.target.verb.capitalize()}Options"
        fault = FieldError("FieldValueTooLong", "fieldManager", "may not be more than 128 bytes")
        raise failure.invalid("meta.k8s.io", kind, "", [fault])
    if not given.isprintable():
        position, letter = next((at, letter) for at, letter in enumerate(given) if not letter.isprintable())
        why = f"invalid character U+{ord(letter):04X} (at position {position})"
        raise failure.invalid("meta.k8s.io", f"{call.target.verb.capitalize()}Options", "", [_manager(given, why)])
    if given:
        return given
    agent = call.request.headers.get("user-agent", "").partition("/")[0]
    return "".join(letter for letter in agent if letter.isprintable())[:128]


def _manager(given: str, why: str) -> FieldError:
    return invalid("fieldManager", given, why)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """``propagation`` is empty where the kind's own default decides. ``grace`` is in seconds.

    None stands for what was not given; an empty precondition is one that nothing meets.
    """

    propagation: str = ""
    grace: int | None = None
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False
    orphan: bool | None = None


def delete_options(call: Call) -> DeleteOptions:
    """From the body where there is one, else from the query."""
    document: Any = {}
    if call.request.body.strip():
        try:
            document = _decoded(call.request.body)
        except (msgspec.DecodeError, protobuf.ProtobufError) as error:
            why = body.json_complaint(call.request.body, error)
            raise failure.bad_request(f"couldn't get version/kind; json parse error: {why}") from None
        if not isinstance(document, dict):
            raise failure.bad_request("DeleteOptions must be an object")
        kind = document.get("kind") or "DeleteOptions"
        if kind != "DeleteOptions":
            version = document.get("apiVersion") or ""
            raise failure.bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{SCHEME}"')
    preconditions = document.get("preconditions") or {}
    query = call.query
    grace = document.get("gracePeriodSeconds", request_path.number(query, "gracePeriodSeconds"))
    propagation = document.get("propagationPolicy") or query.get("propagationPolicy", "")
    orphan = document.get("orphanDependents", request_path.flag(query, "orphanDependents"))
    dry = document.get("dryRun") or [value for name, value in call.request.query if name == "dryRun"]
    if propagation and propagation not in _POLICIES:
        raise _bad(not_supported("propagationPolicy", propagation, [*_POLICIES, "nil"]))
    if propagation and orphan is not None:
        raise _bad(
            invalid("propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set")
        )
    return DeleteOptions(
        propagation=propagation,
        grace=None if grace is None else max(grace, 1) if grace < 0 else grace,
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        dry_run=_dry_run(dry, "DeleteOptions"),
        orphan=orphan,
    )


def _decoded(text: bytes) -> Any:
    return protobuf.read(text) if text.startswith(protobuf.MAGIC) else decode(text)


def _bad(fault: FieldError) -> failure.Failure:
    return failure.invalid("meta.k8s.io", "DeleteOptions", "", [fault])

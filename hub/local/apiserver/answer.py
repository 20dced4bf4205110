"""What goes back to a client, and in which of Kubernetes' forms: whole objects, Tables, or metadata only."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hub.local.apiserver import failure
from hub.local.apiserver.failure import Failure
from hub.local.apiserver.store import encode
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from hub.local.apiserver.aggregation import Relay
    from hub.local.apiserver.pod_logs import LogRead
    from hub.local.apiserver.watching import Watch

JSON = "application/json"
YAML = "application/yaml"


@dataclass(slots=True)
class Answer:
    """A complete response, or a watch whose frames the shell reads and sends as they come, or a request to be sent on,
    or a log that goes on after ``body``.

    ``stream`` is what came back for a relay, or a log, in pieces; only shells set it.
    """

    status: int
    body: bytes = b""
    watch: "Watch | None" = None
    relay: "Relay | None" = None
    log: "LogRead | None" = None
    stream: AsyncIterator[bytes] | None = None
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)


def json_answer(document: object, status: int = 200) -> Answer:
    return Answer(status, encode(document))


def failed(refusal: Failure) -> Answer:
    answer = json_answer(refusal.document(), refusal.code)
    if refusal.details and "retryAfterSeconds" in refusal.details:
        answer.headers.append(("retry-after", str(refusal.details["retryAfterSeconds"])))
    return answer


@dataclass(frozen=True, slots=True)
class Form:
    """The shape a client accepts. ``include`` says what a Table's rows carry of their objects."""

    kind: Literal["object", "table", "partial"] = "object"
    include: str = "Metadata"


OBJECT = Form()
ACCEPTED = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")


def accepted_form(accept: str, query: Mapping[str, str], *, collection: bool = False) -> Form:
    """The first form of an Accept header that is served. Protobuf is passed over: its clients take JSON too."""
    if not accept or accept in (JSON, "*/*"):
        return OBJECT
    for clause in accept.split(","):
        media, *pairs = (part.strip() for part in clause.split(";"))
        if media not in (JSON, YAML, "*/*", "application/*"):
            continue
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        shape = parameters.get("as", "")
        if not shape:
            return OBJECT
        if parameters.get("g") == "meta.k8s.io" and parameters.get("v") in ("v1", "v1beta1"):
            if shape == "Table":
                _check_include(query.get("includeObject", ""))
                return Form("table", query.get("includeObject") or "Metadata")
            if shape.startswith("PartialObjectMetadata"):
                return Form("partial")
    raise failure.not_acceptable(watchable=collection)


def _check_include(include: str) -> None:
    if include not in ("", "Metadata", "Object", "None"):
        fault = f"includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise failure.bad_request(f"Unable to convert to Table as requested: {fault}")


def wants_yaml(accept: str) -> bool:
    """Whether YAML is the first of an Accept header's types that is served."""
    if accept == JSON:
        return False
    for clause in accept.split(","):
        media = clause.partition(";")[0].strip()
        if media in (JSON, "*/*", "application/*"):
            return False
        if media == YAML:
            return True
    return False


def partial(document: Document) -> Document:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": document["metadata"]}

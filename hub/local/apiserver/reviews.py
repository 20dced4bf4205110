"""Reviews: questions posted as objects, answered and never stored. Authorisation is off, so every right is held.

Who may do what is not looked at by this server (``unsupported``); who asks always is.
"""

from hub.local.apiserver import body, failure, write_options
from hub.local.apiserver.answer import Answer, json_answer
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.call import Call
from hub.local.apiserver.identity import user_info
from hub.local.apiserver.metadata import timestamp
from hub.local.apiserver.schema.field_errors import invalid
from worker_agent.api.document import Document

_RULES = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def review(call: Call, authenticator: Authenticator) -> Answer:
    """Answer the posted review. 201 as for any creation."""
    document = body.read_plain(call, call.resource.kind)
    document.setdefault("kind", call.resource.kind)
    document.setdefault("apiVersion", call.resource.api_version)
    document["metadata"] = {}
    manager = write_options.manager(call)
    owned = call.schemas.managed_fields_after_update(call.gvk, document, None, manager, "", call.now)
    if owned:
        document["metadata"]["managedFields"] = owned
    _check(call, document)
    document["status"] = _status(call, document, authenticator)
    return json_answer(document, 201)


def _check(call: Call, document: Document) -> None:
    """An access review asks about a resource or about a path."""
    spec = document.get("spec") or {}
    if not call.resource.kind.endswith("AccessReview"):
        return
    if ("resourceAttributes" in spec) == ("nonResourceAttributes" in spec):
        words = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        given = spec.get("resourceAttributes")
        raise failure.invalid(call.resource.group, "", "", [invalid("spec.resourceAttributes", given, words)])


def _status(call: Call, document: Document, authenticator: Authenticator) -> Document:
    match call.resource.kind:
        case "SelfSubjectReview":
            document["metadata"] = {"creationTimestamp": timestamp(call.now)}
            return {"userInfo": user_info(call.identity)}
        case "SelfSubjectRulesReview":
            return _RULES
        case "TokenReview":
            return _token_status(document, authenticator)
    return {"allowed": True, "reason": "authorisation is off on the embedded API server"}


def _token_status(document: Document, authenticator: Authenticator) -> Document:
    token = (document.get("spec") or {}).get("token") or ""
    identity = authenticator.token(token)
    if identity is None:
        return {"user": {}, "error": "invalid bearer token"}
    audiences = (document.get("spec") or {}).get("audiences")
    status: Document = {"authenticated": True, "user": user_info(identity)}
    if audiences:
        status["audiences"] = audiences
    return status

"""The entry of the pure core: one request in, one answer out, webhook calls yielded in between.

Nothing here waits, reads a clock or touches the network: time and entropy are handed in. ``state.take_events()`` after
each step gives the commits to persist and to tell watches about.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from hub.local.apiserver import (
    aggregation,
    creation,
    deletion,
    discovery,
    failure,
    patches,
    pod_actions,
    pod_logs,
    reading,
    request_path,
    reviews,
    scale,
    unsupported,
    updates,
    watching,
    yaml_text,
)
from hub.local.apiserver.aggregation import Aggregation
from hub.local.apiserver.answer import JSON, YAML, Answer, accepted_form, failed, wants_yaml
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.call import Call, Steps
from hub.local.apiserver.failure import Failure
from hub.local.apiserver.identity import Identity, impersonated
from hub.local.apiserver.request_path import Target
from hub.local.apiserver.schemas import Schemas
from hub.local.apiserver.store import State, decode
from hub.local.apiserver.webhook_rules import HookTable
from worker_agent.kube.transport import Request

VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3-fedhub",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "cpython",
    "platform": "linux/amd64",
}
_HEALTH = ("healthz", "livez", "readyz")
OPEN = (*_HEALTH, "version")
"""First path segments that answer without credentials."""


def new_state(entropy: Callable[[int], bytes], version: int = 1) -> State:
    state = State(entropy, version)
    state.hooks = HookTable()
    state.aggregation = Aggregation()
    return state


class Core:
    """State, schemas and authentication of one server, and ``handle``."""

    def __init__(self, state: State, schemas: Schemas, authenticator: Authenticator | None = None) -> None:
        self.state = state
        self.schemas = schemas
        self.authenticator = authenticator or Authenticator()

    def handle(self, request: Request, identity: Identity, now: datetime) -> Steps:
        """Answer a request. Refusals are answers too; only a bug raises."""
        warnings: list[str] = []
        try:
            answer = yield from self._route(request, identity, now, warnings)
        except Failure as refusal:
            answer = failed(refusal)
        if (
            answer.watch is None
            and answer.relay is None
            and answer.content_type == JSON
            and wants_yaml(request.headers.get("accept", ""))
        ):
            answer.body, answer.content_type = yaml_text.dumped(decode(answer.body)), YAML
        for text in warnings:
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            answer.headers.append(("warning", f'299 - "{quoted}"'))
        return answer

    def _route(self, request: Request, identity: Identity, now: datetime, warnings: list[str]) -> Steps:
        query: dict[str, str] = {}
        for name, value in request.query:
            query.setdefault(name, value)
        state = self.state
        target = request_path.read(state.resources, request, query)
        if target is None:
            return self._other(request, identity)
        why = unsupported.subresource(target.resource.plural, target.subresource) if target.subresource else None
        if why is not None:
            raise failure.not_implemented(why)
        form = accepted_form(request.headers.get("accept", ""), query, collection=not target.name)
        who = impersonated(identity, request.headers)
        call = Call(state, self.schemas, request, query, target, who, now, form, warnings)
        if call.resource.deprecation:
            call.warn(call.resource.deprecation)
        if target.verb in ("get", "list", "watch"):
            return (yield from _read(call))
        if target.resource.verbs == ("create",):
            return self._review(call)
        return (yield from _write(call))

    def _review(self, call: Call) -> Answer:
        if call.target.verb != "create":
            raise failure.method_not_allowed()
        return reviews.review(call, self.authenticator)

    def _serves(self, parts: list[str]) -> bool:
        """Whether the path lies in a group version of the server's own (the router of CRDs is less polite)."""
        if parts[0] != "apis":
            return parts[0] == "api"
        return self.state.resources.is_built_in(parts[1], parts[2])

    def _other(self, request: Request, identity: Identity) -> Answer:
        """Paths that name no served resource."""
        parts = request_path.split(request.path)
        registration = self.state.aggregation.find(self.state, parts)
        if registration is not None:
            return aggregation.relayed(registration, request, identity)
        why = unsupported.reason(parts)
        if why is not None:
            raise failure.not_implemented(why)
        if parts[:1] == ["version"]:
            return Answer(200, msgspec.json.format(msgspec.json.encode(VERSION), indent=2))
        if parts and parts[0] in _HEALTH:
            return Answer(200, b"ok", content_type="text/plain; charset=utf-8")
        accept = request.headers.get("accept", "")
        found = discovery.answer(self.state, self.schemas, parts, accept)
        if found is None:
            if len(parts) > 2 and self._serves(parts):
                raise failure.no_such_resource()
            return Answer(404, b"404 page not found\n", content_type="text/plain; charset=utf-8")
        return found


def _read(call: Call) -> Steps:
    target = call.target
    if target.verb not in target.resource.verbs:
        raise failure.method_not_allowed()
    if target.subresource:
        return _read_subresource(call)
    if target.verb == "watch":
        return watching.watch(call)
    return reading.get(call) if target.name else reading.list_objects(call)


def _read_subresource(call: Call) -> Steps:
    name = call.target.subresource
    if (call.resource.plural, name) == ("pods", "log"):
        return _at_once(pod_logs.read(call))
    if name not in call.resource.subresources:
        raise _no_subresource(call.target)
    if name == "scale":
        return scale.get_scale(call)
    if name in ("binding", "eviction", "finalize"):
        raise failure.method_not_allowed()
    return reading.get(call)


def _at_once(answer: Answer) -> Steps:
    """An answer that asks nobody."""
    yield from ()
    return answer


def _no_subresource(target: Target) -> Failure:
    resource = target.resource
    if resource.custom:
        return failure.not_found(resource.group, resource.plural, target.name)
    return failure.no_such_resource()


def _write(call: Call) -> Steps:
    target = call.target
    if target.resource.namespaced and not target.namespace:
        raise failure.method_not_allowed()
    if target.subresource:
        return _write_subresource(call)
    if target.verb not in target.resource.verbs or bool(target.name) is (target.verb in _ON_COLLECTION):
        raise failure.method_not_allowed()
    return _WRITES[target.verb](call)


_ON_COLLECTION = frozenset({"create", "deletecollection"})
_WRITES: dict[str, Callable[[Call], Steps]] = {
    "create": creation.create,
    "update": updates.replace,
    "patch": patches.patch,
    "delete": deletion.delete,
    "deletecollection": deletion.delete_collection,
}


def _write_subresource(call: Call) -> Steps:
    target: Target = call.target
    if target.subresource not in target.resource.subresources:
        raise _no_subresource(target)
    match target.subresource, target.verb:
        case "scale", "update" | "patch":
            return scale.write_scale(call)
        case "binding", "create":
            return pod_actions.bind(call)
        case "eviction", "create":
            return pod_actions.evict(call)
        case "status" | "ephemeralcontainers" | "resize", "patch":
            return patches.patch(call)
        case "status" | "finalize" | "ephemeralcontainers" | "resize", "update":
            return updates.replace(call)
    raise failure.method_not_allowed()

"""A Transport that lets through what the allow-list allows and answers all else with 403, counted and logged."""

import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Final

import msgspec

from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Request, Response, Transport
from worker_agent.tunnel import api_request, objects
from worker_agent.tunnel.allow_list import Ownership, Rule
from worker_agent.tunnel.api_request import ApiRequest, Refused
from worker_agent.tunnel.objects import Head, ObjectRules

log = logging.getLogger(__name__)

USER_AGENT: Final = "fedhub-agent (for its hub)"
LOG_EVERY_SECONDS: Final = 10.0
"""One line per reason in that time: a hostile hub shall not fill the disk."""

Known = Callable[[ApiRequest], Head | None]
"""What the agent knows of an object without asking; None where it does not know it."""


class Gatekeeper:
    """Sends what is allowed on ``transport`` under the agent's own account, with nothing of the hub's but method, path,
    query and body. ``told(outcome)`` counts: ``allowed``, or the reason of a refusal."""

    def __init__(
        self,
        transport: Transport,
        rules: ObjectRules,
        clock: Clock,
        *,
        known: Known = lambda asked: None,
        told: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        self._transport = transport
        self._rules = rules
        self._clock = clock
        self._known = known
        self._told = told
        self._logged: dict[str, float] = {}
        self._unlogged: Counter[str] = Counter()

    async def request(self, request: Request) -> Response:
        try:
            asked = api_request.parse(request)
            rules = self._rules.allowed.rules_for(asked)
            response = await self._carry_out(asked, rules, _clean(asked, request))
        except Refused as refused:
            self._told(refused.reason)
            self._log(refused)
            return _forbidden(refused)
        self._told("allowed")
        return response

    async def close(self) -> None:
        """The API server's transport is the agent's own, and stays open."""

    async def _carry_out(self, asked: ApiRequest, rules: tuple[Rule, ...], request: Request) -> Response:
        """Of several rules only a get asks more than the first: the others tell them apart by the request alone."""
        rule = rules[0]
        if asked.verb == "get":
            return await self._get(asked, rules, request)
        if asked.verb == "list":
            return await self._list(asked, rule, request)
        if asked.verb == "watch":
            return await self._watch(rule, request)
        if asked.verb == "create":
            checked = (
                self._rules.created_by_name(asked, request, rule.only)
                if rule.only is not None
                else self._rules.created(asked, request)
                if rule.writes_are_checked
                else request
            )
            return await self._transport.request(checked)
        if not rule.writes_are_checked:
            return await self._transport.request(request)
        found = await self._object(asked, request)
        return await self._transport.request(self._rules.changed(asked, request, found))

    async def _get(self, asked: ApiRequest, rules: tuple[Rule, ...], request: Request) -> Response:
        """What one of the rules opens, as that rule shows it: whose an object is, only the object itself tells."""
        if asked.subresource and any(rule.ownership is Ownership.OF_OURS for rule in rules):
            await self._check_parent(asked, request)
            return await self._transport.request(request)
        response = await self._transport.request(request)
        if any(rule.ownership is Ownership.ANY for rule in rules) or response.status >= 300:
            return response
        return replace(response, stream=_whole(self._rules.read_by_any(asked, rules, await response.read())))

    async def _check_parent(self, asked: ApiRequest, request: Request) -> None:
        """What a pod wrote may be read where the pod may be. Raises Refused, also where there is no such pod."""
        response = await self._transport.request(_parent(asked, request))
        body = await response.read()
        if response.status >= 500:
            raise ConnectionError(f"{asked}: the pod cannot be looked at: HTTP {response.status}")
        if response.status >= 300 or not self._rules.of_ours(body):
            raise Refused("origin", f"{asked}: the pod does not belong to a job of this federation")

    async def _list(self, asked: ApiRequest, rule: Rule, request: Request) -> Response:
        response = await self._transport.request(request)
        if response.status >= 300 or not _lies_in_namespaces(rule):
            return response
        raw = await response.read()
        try:
            return replace(response, stream=_whole(self._rules.listed(rule, raw)))
        except msgspec.DecodeError:
            raise ConnectionError(f"{asked}: the API server's answer is not a list") from None

    async def _watch(self, rule: Rule, request: Request) -> Response:
        response = await self._transport.request(request)
        if response.status >= 300 or not _lies_in_namespaces(rule):
            return response
        return replace(response, stream=self._shown(rule, response))

    async def _shown(self, rule: Rule, response: Response) -> AsyncGenerator[bytes, None]:
        """The lines of a watch as they may be seen, whole lines only."""
        rest = b""
        try:
            async for piece in response.stream:
                *lines, rest = (rest + piece).split(b"\n")
                shown = [self._rules.watched(rule, line) for line in lines if line]
                if seen := [line for line in shown if line is not None]:
                    yield b"\n".join([*seen, b""])
        except msgspec.DecodeError:
            raise ConnectionError("the API server's watch holds a line that is no event") from None
        finally:
            await response.close()

    async def _object(self, asked: ApiRequest, request: Request) -> Head | None:
        """The object a write is about: as known if that is enough to allow it, else as the API server has it."""
        known = self._known(asked)
        if known is not None and self._rules.is_ours(known):
            return known
        response = await self._transport.request(_parent(asked, request))
        body = await response.read()
        if response.status == 404:
            return None
        if response.status >= 300:
            raise ConnectionError(f"{asked}: the object cannot be looked at: HTTP {response.status}")
        try:
            return objects.head(body)
        except msgspec.DecodeError:
            raise ConnectionError(f"{asked}: the API server's answer is not an object") from None

    def _log(self, refused: Refused) -> None:
        now = self._clock.monotonic()
        if now - self._logged.get(refused.reason, float("-inf")) < LOG_EVERY_SECONDS:
            self._unlogged[refused.reason] += 1
            return
        self._logged[refused.reason] = now
        more = self._unlogged.pop(refused.reason, 0)
        log.warning("the hub was refused: %s%s", refused.message, f" (and {more} more before)" if more else "")


def _parent(asked: ApiRequest, request: Request) -> Request:
    """A read of the object whose subresource is asked for, or of the object itself."""
    path = request.path.removesuffix(f"/{asked.subresource}") if asked.subresource else request.path
    headers = {name: value for name, value in request.headers.items() if name != "content-type"}
    return Request("GET", path, headers=headers)


def _lies_in_namespaces(rule: Rule) -> bool:
    return rule.namespaced or (not rule.group and rule.resource == "namespaces")


def _clean(asked: ApiRequest, request: Request) -> Request:
    """As it goes to the API server: our own headers, and of the hub's the content type alone."""
    accept = f"{objects.JSON}, */*" if asked.subresource else objects.JSON  # logs are text
    headers = {"accept": accept, "user-agent": USER_AGENT}
    given = {name.lower(): value for name, value in request.headers.items()}
    if request.body and "content-type" in given:
        headers["content-type"] = given["content-type"]
    return replace(request, headers=headers)


def _forbidden(refused: Refused) -> Response:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden"}
    body = msgspec.json.encode(status | {"message": f"fedhub-agent refused: {refused.message}", "code": 403})
    return Response(403, {"content-type": objects.JSON}, _whole(body))


async def _whole(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body

"""What the federation may do in this cluster: kinds, verbs, namespaces. Pure; a table, and one function that asks it.

The rules name only what the hub's own code needs. Writing is allowed on Workloads and job kinds alone, in allowed
namespaces alone, and only to objects that bear the hub's origin label (``objects`` looks at those).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from worker_agent.api import knowledge, names, resource_type
from worker_agent.api.meta import Key
from worker_agent.api.pod_workload import CORE_EVENTS
from worker_agent.api.resource_type import ResourceType
from worker_agent.tunnel.api_request import ApiRequest, Refused

READ: Final = frozenset({"get", "list", "watch"})
WRITE: Final = frozenset({"create", "update", "patch", "delete"})

KNOWLEDGE: Final = (
    *knowledge.FOLLOWED,
    resource_type.WORKLOAD_PRIORITY_CLASSES,
    resource_type.PRIORITY_CLASSES,
)
"""What a verdict rests on: read, never written."""

LARGEST_PAGE: Final = 1000

ALWAYS_PROTECTED: Final = ("kube-*",)
"""Namespaces that no setting opens."""


class Ownership(StrEnum):
    """What a rule asks of the objects themselves."""

    ANY = "any"
    WRITES_OURS = "writes are to objects of our origin; of others is read what they ask for, not what they do"
    OURS = "reads and writes are of objects of our origin"
    OF_OURS = "reads are of pods of our jobs, and of events about these jobs and pods"


@dataclass(frozen=True, slots=True)
class Rule:
    """``resource`` is a plural, or one with its subresource: ``workloads/status``. ``only`` names the objects that the
    rule is about, wherever they lie; None is every object of open namespaces."""

    group: str
    resource: str
    verbs: frozenset[str]
    ownership: Ownership = Ownership.ANY
    namespaced: bool = True
    only: frozenset[Key] | None = None

    @property
    def writes_are_checked(self) -> bool:
        """Whether what is written must bear our origin."""
        return self.ownership is not Ownership.ANY


@dataclass(frozen=True, slots=True)
class AllowList:
    """``namespaces`` and ``protected`` are shell patterns; what is protected is not allowed, whatever else is said."""

    origin: str
    rules: tuple[Rule, ...]
    namespaces: tuple[str, ...] = ("*",)
    protected: tuple[str, ...] = ()

    def allows_namespace(self, namespace: str) -> bool:
        if any(fnmatchcase(namespace, pattern) for pattern in (*ALWAYS_PROTECTED, *self.protected)):
            return False
        return any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)

    def rules_for(self, request: ApiRequest) -> tuple[Rule, ...]:
        """Every rule that allows ``request``, at least one. Raises Refused, which says what would have been allowed."""
        resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
        found = [r for r in self.rules if (r.group, r.resource) == (request.group, resource)]
        if not found:
            raise Refused("resource", f"{request.target} is not on the allow-list of this cluster's agent")
        allowing: list[Rule] = []
        refusals: list[Refused] = []
        for rule in found:  # pods may be a kind of jobs and what a job runs in, each with a rule of its own
            try:
                allowing.append(self._allowed_by(rule, request))
            except Refused as refused:
                refusals.append(refused)
        if not allowing:
            raise refusals[0]
        return tuple(allowing)

    def rule_for(self, request: ApiRequest) -> Rule:
        """The first rule that allows ``request``. Raises Refused."""
        return self.rules_for(request)[0]

    def _allowed_by(self, rule: Rule, request: ApiRequest) -> Rule:
        if request.verb not in rule.verbs:
            allowed = ", ".join(sorted(rule.verbs))
            raise Refused(
                "verb", f"{request.verb} of {request.target} is not allowed by this cluster's agent: {allowed}"
            )
        if rule.only is not None:
            _check_named(request, rule.only)
            return rule
        self._check_namespace(request, rule)
        self._check_selector(request, rule)
        _check_page(request)
        return rule

    def _check_namespace(self, request: ApiRequest, rule: Rule) -> None:
        namespace = request.namespace if rule.namespaced else ""
        if rule.resource == "namespaces" and not rule.group:
            namespace = request.name
        if namespace and not self.allows_namespace(namespace):
            raise Refused("namespace", f"namespace {namespace} is not open to the federation in this cluster")
        anywhere = request.verb in ("list", "watch") and rule.ownership is not Ownership.OF_OURS
        if rule.namespaced and not request.namespace and not anywhere:
            raise Refused("namespace", f"{request.verb} of {request.target} needs a namespace")
        if not rule.namespaced and request.namespace:
            raise Refused("path", f"{request.target} has no namespace")

    def _check_selector(self, request: ApiRequest, rule: Rule) -> None:
        """Lists of what may be read only where it is ours must say so: the API server then does the choosing."""
        if rule.ownership is not Ownership.OURS or request.verb not in ("list", "watch"):
            return
        ours = f"{names.MULTIKUEUE_ORIGIN_LABEL}={self.origin}"
        selector = request.query.get("labelSelector", "")
        if selector != ours and not selector.startswith(f"{ours},"):
            raise Refused("origin", f"{request.verb} of {request.target} needs the label selector {ours}")


def _check_page(request: ApiRequest) -> None:
    """Lists come in pages: the agent holds each in memory while it looks through it."""
    limit = request.query.get("limit", "")
    if request.verb == "list" and not (limit.isascii() and limit.isdecimal() and 0 < int(limit[:9]) <= LARGEST_PAGE):
        raise Refused("query", f"{request.verb} of {request.target} needs a limit of at most {LARGEST_PAGE}")


def _check_named(request: ApiRequest, only: frozenset[Key]) -> None:
    """A create names its object in the body, which ``objects`` compares."""
    if request.verb == "create":
        allowed = any(key.namespace == request.namespace for key in only)
    else:
        allowed = Key(request.namespace, request.name) in only
    if not allowed:
        raise Refused("name", f"{request} is not one of the objects that this cluster's agent opens to the federation")


def leases(named: Iterable[Key]) -> Rule:
    """The leases by which the hub shows that it is alive: these and no other."""
    kind = resource_type.LEASES
    return Rule(kind.group, kind.plural, frozenset({"get", "create", "update", "patch"}), only=frozenset(named))


def default_rules(kinds: Iterable[ResourceType]) -> tuple[Rule, ...]:
    """What the hub needs for Workloads, these job kinds, and its knowledge."""
    writable = READ | WRITE
    workloads = resource_type.WORKLOADS
    status = frozenset({"get", "update", "patch"})
    found = [
        Rule(workloads.group, workloads.plural, writable, Ownership.WRITES_OURS),
        Rule(workloads.group, f"{workloads.plural}/status", status, Ownership.WRITES_OURS),
    ]
    found += [Rule(kind.group, kind.plural, writable, Ownership.OURS) for kind in dict.fromkeys(kinds)]
    found += [Rule(known.group, known.plural, READ, namespaced=known.namespaced) for known in KNOWLEDGE]
    return (*found, *_followed())


def _followed() -> tuple[Rule, ...]:
    """What users of the manager may follow their own jobs by."""
    pods, events = resource_type.PODS, CORE_EVENTS
    once = frozenset({"get", "list"})
    return (
        Rule(pods.group, pods.plural, once, Ownership.OF_OURS),
        Rule(pods.group, f"{pods.plural}/log", frozenset({"get"}), Ownership.OF_OURS),
        Rule(events.group, events.plural, frozenset({"list"}), Ownership.OF_OURS),
    )

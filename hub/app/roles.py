"""The rights of both programs as roles, made of what their modules say they ask for (``NEEDS``; ``api.need``).

``fedhub-agent`` and ``fedhub-hub`` are the programs' own. ``fedhub-dispatch`` is what a federation may do in a worker
cluster: bound to the account whose kubeconfig a hub is given, or to the agent that dials its hub and asks in its place.
"""

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import worker_agent
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Need, Place
from worker_agent.api.resource_type import LEASES
from worker_agent.jobs import KINDS
from worker_agent.tunnel import allow_list

RBAC: Final = "rbac.authorization.k8s.io/v1"
NAMESPACE: Final = "fedhub-system"
AGENT: Final = "fedhub-agent"
HUB: Final = "fedhub-hub"
DISPATCH: Final = "fedhub-dispatch"
OUTSIDE: Final = "outside"
"""Suffix of the roles of programs that run outside of their cluster, in local federations: never in a manifest."""

ALLOWED: Final = "on the allow-list of agents, which all hubs of a version-skew window share"

DECLARATION: Final = b"\nNEEDS"
WITHOUT_ROLE: Final = ("cli", "local")
"""Packages of what runs with a user's own rights, or plays a cluster."""

VERBS: Final[tuple[str, ...]] = ("get", "list", "watch", "create", "update", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a role. ``unseen`` is non-empty where every need behind it says why no test asks for it."""

    group: str
    resource: str
    verbs: frozenset[str]
    names: tuple[str, ...] = ()
    unseen: str = ""


def agent_needs() -> list[Need]:
    """Of an agent, the tunnel to its hub included."""
    return _declared("worker_agent", lambda module: True)


def hub_needs() -> list[Need]:
    """The hub is an agent on the manager cluster, and more; it dials nobody."""
    return [*_declared("worker_agent", lambda module: ".tunnel" not in module), *_declared("hub", lambda module: True)]


def dispatch_needs() -> list[Need]:
    """What the hub asks of a worker: the allow-list of agents, for all kinds that can be sent."""
    kinds = [kind.resource for kind in KINDS.values() if kind.is_dispatched]
    rules = allow_list.default_rules(kinds)
    lease = allow_list.leases(())
    return [
        *(Need(rule.group, rule.resource, rule.verbs, unseen=ALLOWED) for rule in rules),
        need.of(LEASES, *lease.verbs, place=Place.OWN_NAMESPACE, unseen=ALLOWED),
    ]


PROGRAMS: Final[dict[str, Callable[[], list[Need]]]] = {
    AGENT: agent_needs,
    HUB: hub_needs,
    DISPATCH: dispatch_needs,
}
"""By the name of role and service account."""


def documents(program: str, namespace: str = NAMESPACE) -> list[Document]:
    """ClusterRole and Role of a program of ``PROGRAMS``, as the manifests have them."""
    return _roles(program, [found for found in _named(program) if not found.outside], namespace)


def outside_documents(program: str, namespace: str) -> list[Document]:
    """What the program needs beside those where it puts up its own webhooks and services."""
    return _roles(f"{program}-{OUTSIDE}", [found for found in _named(program) if found.outside], namespace)


def rules(needs: Iterable[Need]) -> list[Rule]:
    """One rule per resource and its names, with all verbs."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    reasons: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for found in needs:
        place = (found.group, found.resource, found.names)
        verbs[place] |= found.verbs
        reasons[place].append(found.unseen)
    return [
        Rule(*place[:2], frozenset(verbs[place]), place[2], reasons[place][0] if all(reasons[place]) else "")
        for place in sorted(verbs)
    ]


def _named(program: str) -> list[Need]:
    """The needs with this program's names in them."""
    return [
        replace(found, names=tuple(name.replace(need.PROGRAM, program) for name in found.names))
        for found in PROGRAMS[program]()
    ]


def _roles(name: str, needs: Sequence[Need], namespace: str) -> list[Document]:
    cluster = [found for found in needs if found.place is Place.CLUSTER]
    own = [found for found in needs if found.place is Place.OWN_NAMESPACE]
    made = [_role("ClusterRole", {"name": name}, cluster)] if cluster else []
    return [*made, _role("Role", {"name": name, "namespace": namespace}, own)] if own else made


def _role(kind: str, metadata: Document, needs: Iterable[Need]) -> Document:
    return {"apiVersion": RBAC, "kind": kind, "metadata": metadata, "rules": list(_written(rules(needs)))}


def _written(found: Iterable[Rule]) -> Iterator[Document]:
    """Resources of one group with the same verbs share a rule."""
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for rule in found:
        verbs = tuple(verb for verb in VERBS if verb in rule.verbs)
        together[rule.group, verbs, rule.names].append(rule.resource)
    for (group, verbs, names), resources in together.items():
        named = {"resourceNames": list(names)} if names else {}
        yield {"apiGroups": [group], "resources": resources, **named, "verbs": list(verbs)}


def _declared(package: str, wanted: Callable[[str], bool]) -> list[Need]:
    return [found for module in modules(package) if wanted(module) for found in _needs_of(module)]


@cache
def modules(package: str) -> tuple[str, ...]:
    """Those that declare needs; the others are not imported."""
    root = worker_agent if package == "worker_agent" else importlib.import_module(package)
    return tuple(_declaring(root.__path__, f"{package}."))


def _declaring(path: Iterable[str], prefix: str) -> Iterator[str]:
    for found in pkgutil.iter_modules(path, prefix):
        short = found.name.rpartition(".")[2]
        if found.ispkg:
            if short not in WITHOUT_ROLE:
                folders = [f"{folder}/{short}" for folder in path]
                yield from _declaring(folders, f"{found.name}.")
            continue
        spec = found.module_finder.find_spec(found.name, None)
        origin = spec.origin if spec is not None else None
        if origin is not None and DECLARATION in _source(origin):
            yield found.name


def _source(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _needs_of(module: str) -> Sequence[Need]:
    declared: Sequence[Need] = importlib.import_module(module).NEEDS
    return declared

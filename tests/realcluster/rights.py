"""Whether the roles fit: what was asked and refused, and what is granted and was never asked.

python -m tests.realcluster.rights FOLDER      judges the logs that runs left there (``rights_log``); as JSON
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hub.app import roles
from hub.local.real import accounts
from tests.realcluster import rights_log
from tests.realcluster.rights_log import Asked
from worker_agent.api.need import Need, Place

LOOKED_FOR = ("configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts")
"""What the hub looks for on a worker before it sends a job; a credential that may not read them counts as "there"."""


AN_AGENT = "asked for by agents, and the hub is one on its own cluster"


@dataclass(frozen=True, slots=True)
class Unused:
    """A verb of a rule that nobody asked for. ``reason`` is the code's own, empty where it gives none."""

    role: str
    place: str
    resource: str
    verb: str
    reason: str


def refused(asked: Iterable[Asked]) -> list[Asked]:
    """What was answered with 403 and is not one of the refusals that the program counts on."""
    return [one for one in asked if not one.allowed and not _expected(one)]


def _expected(one: Asked) -> bool:
    looks = one.verb == "get" and one.group == "" and one.resource in LOOKED_FOR
    return one.account == roles.DISPATCH and looks


def unused(asked: Iterable[Asked]) -> list[Unused]:
    """Of every role, what no request needed."""
    seen = list(asked)
    found = {role: list(_unused(role, [one for one in seen if _is_of(role, one)])) for role in roles.PROGRAMS}
    idle = {(one.place, one.resource, one.verb) for one in found[roles.AGENT]}
    found[roles.HUB] = [_of_hub(one, idle) for one in found[roles.HUB]]
    return [one for role in roles.PROGRAMS for one in found[role]]


def _of_hub(one: Unused, idle: set[tuple[str, str, str]]) -> Unused:
    """What agents asked for, a hub may: it is one, and these tests give it little of an agent's work."""
    verbs = {(n.place.value, name(n.group, n.resource), verb) for n in roles.agent_needs() for verb in n.verbs}
    place = (one.place, one.resource, one.verb)
    return replace(one, reason=AN_AGENT) if not one.reason and place in verbs - idle else one


def name(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def _is_of(role: str, one: Asked) -> bool:
    """An agent that dials asks for itself under one role, and for its hub under the other."""
    if one.account == accounts.MEMBER:
        return role == (roles.DISPATCH if one.for_hub else roles.AGENT)
    return one.account == role


def _unused(role: str, asked: list[Asked]) -> Iterator[Unused]:
    needs = [found for found in roles.PROGRAMS[role]() if not found.outside]
    for place in (Place.CLUSTER, Place.OWN_NAMESPACE):
        for rule in roles.rules(found for found in needs if found.place is place):
            resource = name(rule.group, rule.resource)
            for verb in sorted(rule.verbs):
                if not any(_uses(one, rule.group, rule.resource, verb, place) for one in asked):
                    yield Unused(role, place.value, resource, verb, _reason(needs, rule.group, rule.resource, verb))


def _uses(one: Asked, group: str, resource: str, verb: str, place: Place) -> bool:
    fits = place is Place.CLUSTER or one.namespace == "own"
    return fits and one.allowed and (one.group, one.resource, one.verb) == (group, resource, verb)


def _reason(needs: list[Need], group: str, resource: str, verb: str) -> str:
    """The code's reason, where every part that asks for the verb gives one."""
    reasons = [n.unseen for n in needs if (n.group, n.resource) == (group, resource) and verb in n.verbs]
    return reasons[0] if all(reasons) else ""


def main() -> int:
    asked = rights_log.load(Path(sys.argv[1]))
    found = unused(asked)
    report = {
        "requests": sum(asked.values()),
        "refused": [one._asdict() for one in refused(asked)],
        "expected refusals": sum(count for one, count in asked.items() if not one.allowed and _expected(one)),
        "unused without a reason": [asdict(one) for one in found if not one.reason],
        "unused with a reason": len([one for one in found if one.reason]),
    }
    print(json.dumps(report, indent=1))
    return 1 if report["refused"] or report["unused without a reason"] else 0


if __name__ == "__main__":
    sys.exit(main())

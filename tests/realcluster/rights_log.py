"""What the programs asked of real API servers, kept from audit logs: who, what, and whether it was allowed.

``FEDHUB_TEST_RIGHTS`` names the folder in which every control plane of a run leaves its counts when it stops; without
it nothing is logged. ``tests.realcluster.rights`` judges them.
"""

import json
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hub.local.objects import SYSTEM_NAMESPACE

VARIABLE = "FEDHUB_TEST_RIGHTS"
USER_PREFIX = f"system:serviceaccount:{SYSTEM_NAMESPACE}:"
FOR_ITS_HUB = "(for its hub)"


class Asked(NamedTuple):
    """One sort of request. ``namespace`` is ``own``, empty (all, or none), or any other; ``message`` is of refusals."""

    account: str
    for_hub: bool
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    allowed: bool
    message: str


def wanted() -> bool:
    return bool(os.environ.get(VARIABLE))


def keep(audit_log: Path) -> None:
    """Leaves the counts of one control plane, if they are wanted and it logged any."""
    if not wanted() or not audit_log.exists():
        return
    folder = Path(os.environ[VARIABLE])
    folder.mkdir(parents=True, exist_ok=True)
    counts = Counter(parsed(audit_log.read_bytes().splitlines()))
    path = folder / f"{uuid.uuid4()}.json"
    path.write_text(json.dumps([[*asked, count] for asked, count in counts.items()]))


def load(folder: Path) -> Counter[Asked]:
    """Of all control planes together."""
    found: Counter[Asked] = Counter()
    for path in folder.glob("*.json"):
        for *fields, count in json.loads(path.read_bytes()):
            found[Asked(*fields)] += count
    return found


def parsed(lines: Iterable[bytes]) -> Iterator[Asked]:
    """Of the programs' requests for objects; a server that is killed leaves its last line half written."""
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        user = str((event.get("user") or {}).get("username", ""))
        if user.startswith(USER_PREFIX) and event.get("objectRef") and event.get("stage") != "RequestReceived":
            yield _asked(user.removeprefix(USER_PREFIX), event)


def _asked(account: str, event: dict[str, Any]) -> Asked:
    what = event["objectRef"]
    status = event.get("responseStatus") or {}
    code = status.get("code", 200)
    verb = event.get("verb", "")
    if verb == "patch" and code == 201:
        verb = "create"  # an apply that made the object asks for both
    resource = "/".join(part for part in (what.get("resource", ""), what.get("subresource", "")) if part)
    namespace = what.get("namespace", "")
    place = "own" if namespace == SYSTEM_NAMESPACE else namespace and "other"
    refused = code == 403 and "is forbidden: User" in status.get("message", "")
    named = what.get("name", "") if place in ("", "own") or refused else ""
    return Asked(
        account,
        FOR_ITS_HUB in event.get("userAgent", ""),
        verb,
        what.get("apiGroup", ""),
        resource,
        place,
        named,
        not refused,
        status.get("message", "") if refused else "",
    )

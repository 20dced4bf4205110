"""Writes from the audit log of a real API server: who made how many of what."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")


@dataclass
class Writes:
    """Write requests by (who, resource); who is the program, by its user agent."""

    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Requests with an answer from 400 on, by who and status code: conflicts, objects that were there, throttling."""

    def add(self, event: dict[str, Any]) -> None:
        if event.get("stage") != "ResponseComplete":
            return
        agent, reference = who(event.get("userAgent", "")), event.get("objectRef") or {}
        code = (event.get("responseStatus") or {}).get("code", 200)
        if code >= 400:
            self.refused[agent, code] += 1
        elif reference.get("namespace") not in SYSTEM_NAMESPACES:
            place = (reference.get("resource", ""), reference.get("subresource", ""))
            self.made[agent, "/".join(part for part in place if part)] += 1


def who(user_agent: str) -> str:
    """``kube-controller-manager job-controller`` of its long user agent, ``fedhub-hub`` of ``fedhub-hub/1.0``.

    Controllers of one program put their name behind the commit it was built from.
    """
    program, _, rest = user_agent.partition("/")
    _, _, after = rest.partition(" kubernetes/")
    controller = after.partition("/")[2].rpartition(":")[2]
    return f"{program} {controller}" if controller else program or "(nobody)"


def read(path: Path, start: int = 0) -> Writes:
    """The writes logged from byte ``start`` on."""
    with path.open("rb") as log:
        log.seek(start)
        return counted(log)


def counted(lines: Iterable[bytes]) -> Writes:
    writes = Writes()
    for line in lines:
        if line.endswith(b"\n"):  # the last one may be half written
            writes.add(json.loads(line))
    return writes

"""Writes from the audit log of a real API server: who made how many of what, and of which object."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")

LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Write:
    """One answered write request; ``who`` is the program, by its user agent; ``what`` is ``jobs`` or ``jobs/status``.

    ``name`` is empty where the server chose it; ``manager`` is the field manager that the request names.
    """

    who: str
    verb: str
    what: str
    namespace: str
    name: str
    code: int
    manager: str = ""

    @property
    def is_event(self) -> bool:
        return self.what.startswith("events")


@dataclass
class Writes:
    """Write requests by (who, resource); who is the program, by its user agent."""

    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Requests with an answer from 400 on, by who and status code: conflicts, objects that were there, throttling."""

    def add(self, write: Write) -> None:
        if write.code >= 400:
            self.refused[write.who, write.code] += 1
        elif write.namespace not in SYSTEM_NAMESPACES:
            self.made[write.who, write.what] += 1


def who(user_agent: str) -> str:
    """``kube-controller-manager job-controller`` of its long user agent, ``fedhub-hub`` of ``fedhub-hub/1.0``.

    Controllers of one program put their name behind the commit it was built from.
    """
    program, _, rest = user_agent.partition("/")
    _, _, after = rest.partition(" kubernetes/")
    controller = after.partition("/")[2].rpartition(":")[2]
    return f"{program} {controller}" if controller else program or "(nobody)"


def read(path: Path, start: int = 0) -> Writes:
    """The writes logged from byte ``start`` on, counted."""
    return counted(each(path, start))


def counted(found: Iterable[Write]) -> Writes:
    writes = Writes()
    for write in found:
        writes.add(write)
    return writes


def each(path: Path, start: int = 0, end: int | None = None) -> Iterator[Write]:
    """The writes logged from byte ``start`` on, up to byte ``end``, in the order of their answers."""
    with path.open("rb") as log:
        log.seek(start)
        lines = log if end is None else log.read(end - start).splitlines(keepends=True)
        yield from parsed(lines)


def end(path: Path) -> int:
    """How many bytes the whole lines of the log have: the last one may be half written. A log that is not there: 0."""
    if not path.exists():
        return 0
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        start = max(0, size - LONGEST_LINE)
        log.seek(start)
        return start + log.read(size - start).rfind(b"\n") + 1


def parsed(lines: Iterable[bytes]) -> Iterator[Write]:
    """One for each answered request; the last line may be half written."""
    for line in lines:
        if line.endswith(b"\n"):
            event = json.loads(line)
            if event.get("stage") == "ResponseComplete":
                yield _write(event)


def _write(event: dict[str, Any]) -> Write:
    reference = event.get("objectRef") or {}
    place = (reference.get("resource", ""), reference.get("subresource", ""))
    return Write(
        who=who(event.get("userAgent", "")),
        verb=event.get("verb", ""),
        what="/".join(part for part in place if part),
        namespace=reference.get("namespace", ""),
        name=reference.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 200),
        manager="".join(parse_qs(urlsplit(event.get("requestURI", "")).query).get("fieldManager", ())),
    )

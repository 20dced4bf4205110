"""Which of the enabled job kinds a cluster serves, and how that is shown."""

from collections.abc import Iterable

import msgspec

from worker_agent.api.job_kind import JobKind
from worker_agent.app import kinds_served
from worker_agent.jobs.declared import DeclaredKind
from worker_agent.kube.client import Client


class ServedKind(msgspec.Struct, rename="camel"):
    """One enabled kind. ``missing`` are the kinds it needs beside its own that the cluster does not have."""

    framework: str
    api_version: str
    kind: str
    served: bool
    dispatched: bool
    declared: bool
    missing: list[str]


async def ask(client: Client, enabled: Iterable[JobKind]) -> list[ServedKind]:
    """What the server has of these kinds. Raises ApiError, ConnectionError."""
    found = []
    for kind in enabled:
        beside = [each for each in kind.companion_resources if not await kinds_served.is_served(client, each)]
        found.append(
            ServedKind(
                kind.framework,
                kind.resource.api_version,
                kind.resource.kind,
                await kinds_served.is_served(client, kind.resource),
                kind.is_dispatched,
                isinstance(kind, DeclaredKind),
                [each.kind for each in beside],
            )
        )
    return found


def lines(found: list[ServedKind]) -> list[str]:
    """As a table for people."""
    head = ["INTEGRATION", "KIND", "SERVED", "OTHER CLUSTERS", "FROM"]
    rows = [
        [
            each.framework,
            f"{each.kind} ({each.api_version})",
            _served(each),
            "yes" if each.dispatched else "no",
            "settings" if each.declared else "built in",
        ]
        for each in found
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in [head, *rows])
    return ["   ".join(row).rstrip() for row in padded]


def _served(kind: ServedKind) -> str:
    if not kind.served:
        return "no, waiting for its definition"
    return f"no, waiting for {', '.join(kind.missing)}" if kind.missing else "yes"

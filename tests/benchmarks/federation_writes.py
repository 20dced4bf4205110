"""The writes of a real federation between two moments, from the audit logs of its clusters."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass

from hub.local.federation import Federation
from hub.local.real.files import Files
from tests.benchmarks import audit_log
from tests.benchmarks.audit_log import Write

QUIET_SECONDS = 1.5
QUIET_AT_MOST_SECONDS = 60.0
Marks = dict[str, int]
"""By cluster: how many bytes of whole lines its audit log has."""


class AuditLogs:
    """The audit logs of a federation of real clusters; what is in them already when this is made does not count."""

    def __init__(self, federation: Federation) -> None:
        folders = {cluster.name: federation.layout.cluster(cluster.name) for cluster in federation.spec.clusters}
        self._logs = {name: Files(folder).audit_log for name, folder in folders.items()}
        self._starts = self.marks()

    def marks(self) -> Marks:
        return {name: audit_log.end(log) for name, log in self._logs.items()}

    def read(self) -> dict[str, audit_log.Writes]:
        """Everything since this was made, counted."""
        return {name: audit_log.read(log, self._starts[name]) for name, log in self._logs.items()}

    def between(self, start: Marks, end: Marks) -> dict[str, list[Write]]:
        """By cluster, in the order of their answers."""
        return {name: list(audit_log.each(log, start[name], end[name])) for name, log in self._logs.items()}

    async def quiet(self, prefix: str) -> None:
        """Waits until nobody has written an object whose name holds ``prefix`` for a while."""
        patience, marks, still = QUIET_AT_MOST_SECONDS, self.marks(), 0.0
        while still < QUIET_SECONDS and patience > 0:
            await asyncio.sleep(0.25)
            now = self.marks()
            told = any(prefix in write.name for found in self.between(marks, now).values() for write in found)
            still = 0.0 if told else still + 0.25
            patience -= 0.25
            marks = now


@dataclass(frozen=True, slots=True)
class WritesPerJob:
    """Write requests of the hub and the agents for each job; ``details`` tells who made how many of what, where, and
    as which field manager.

    ``to_start`` are those of ``manager`` up to the write that starts the job there, which is the first to the job.
    What concerns no job (status of queues, reports, leases) is shared by all jobs, that of workers as the winner's.
    """

    manager: float
    to_start: float
    winner: float
    others: float
    events: float
    copies: float
    details: dict[str, float]


def per_job(
    found: dict[str, list[Write]], manager: str, programs: frozenset[str], winners: dict[str, str]
) -> WritesPerJob:
    """``winners``: by the name of each Job, the worker it ran on. ``programs``: user agents of hub and agents."""
    totals: Counter[str] = Counter()
    details: Counter[str] = Counter()
    started: set[str] = set()
    named = re.compile("|".join(sorted({re.escape(name.rpartition("-")[0]) for name in winners})) + r"-\d{5}")
    for cluster, writes in found.items():
        for write in writes:
            if write.who not in programs or write.code >= 400 or write.namespace in audit_log.SYSTEM_NAMESPACES:
                continue
            name = named.search(write.name)
            lost = cluster != manager and name is not None and winners.get(name[0]) != cluster
            place = "manager" if cluster == manager else "others" if lost else "winner"
            totals["events" if write.is_event else place] += 1
            own = name[0] if name is not None else ""
            totals["to_start"] += cluster == manager and not write.is_event and own not in started
            if cluster == manager and own and write.what == "jobs":
                started.add(own)
            totals["copies"] += cluster != manager and (write.verb, write.what) == ("create", "workloads")
            details[_line(place, write)] += 1
    jobs = len(winners)
    return WritesPerJob(
        manager=totals["manager"] / jobs,
        to_start=totals["to_start"] / jobs,
        winner=totals["winner"] / jobs,
        others=totals["others"] / jobs,
        events=totals["events"] / jobs,
        copies=totals["copies"] / jobs,
        details={what: round(count / jobs, 3) for what, count in details.most_common()},
    )


def _line(place: str, write: Write) -> str:
    as_manager = f" as {write.manager}" if write.manager not in ("", write.who) else ""
    return f"{place}: {write.who} {write.verb} {write.what}{as_manager}"

"""One contender under one load: creation to running, running to deleted; rate, waits, writes, CPU.

The load creates Jobs whose pods run until told. When all of them run and the manager says so, it ends the pods as their
kubelets would, waits until the manager's Jobs are Complete, deletes those and waits until nothing is left anywhere.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hub.local.federation import Federation
from tests.benchmarks import federation_usage, federation_writes
from tests.benchmarks.federation_load import Load, Watching
from tests.benchmarks.federation_usage import Usages
from tests.benchmarks.federation_writes import AuditLogs, Marks, WritesPerJob

Figures = dict[str, Any]
TOLD_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Contender:
    """Who dispatches. ``programs`` are the user agents of its hub and agents; ``dispatcher`` is None for the peer.

    ``settings`` go into the settings of hub and agents beside what a local federation needs.
    """

    name: str
    dispatcher: str | None
    programs: frozenset[str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """For names of objects."""
        return "".join(filter(str.isalnum, self.name.lower()))[:20]

    @property
    def is_peer(self) -> bool:
        return self.dispatcher is None


@dataclass(frozen=True, slots=True)
class Reading:
    """What had been used and written at one moment."""

    at: float
    usages: Usages
    marks: Marks


@dataclass
class Run:
    """``measure`` may be called for one load after the other; nothing is left of the one before."""

    federation: Federation
    contender: Contender
    timeout_seconds: float
    logs: AuditLogs | None = field(init=False)

    def __post_init__(self) -> None:
        self.logs = AuditLogs(self.federation) if self.federation.real else None

    async def measure(self, seen: Watching, load: Load) -> Figures:
        """Raises TimeoutError where a phase takes longer than ``timeout_seconds``."""
        await load.connect(self._manager_client(seen))
        began = self.reading()
        start = time.monotonic()
        sent = await load.submit(self._manager_client(seen))
        submitted = time.monotonic() - start
        await self._phase(seen, lambda: _all_in(sent, seen.workers.running))
        untold = await self._told(seen, sent)
        await self.quiet(load.prefix)
        middle = self.reading()
        ending = time.monotonic()
        await seen.finish_pods()
        await self._phase(seen, lambda: _all_in(sent, seen.manager.finished))
        finished = time.monotonic() - ending
        await load.delete(self._manager_client(seen))
        async with asyncio.timeout(self.timeout_seconds):
            await seen.gone()
        gone = time.monotonic() - ending
        await self.quiet(load.prefix)
        end = self.reading()
        waits = sorted(seen.workers.running[name] - sent[name] for name in sent)
        interval = max(seen.workers.running[name] for name in sent) - start
        winners = {name: seen.workers.cluster[name] for name in sent}
        return {
            "contender": self.contender.name,
            "jobs": load.jobs,
            "failed": len(seen.manager.failed & sent.keys()),
            "submit_seconds": round(submitted, 2),
            "load_share_of_interval": round(submitted / interval, 3),
            "seconds_to_all_running": round(interval, 2),
            "jobs_per_second": round(load.jobs / interval, 2),
            "creation_to_running_seconds": {
                "p50": round(statistics.median(waits), 2),
                "p99": round(waits[min(len(waits) - 1, int(len(waits) * 0.99))], 2),
            },
            "seconds_to_all_finished": round(finished, 2),
            "seconds_to_all_gone": round(gone, 2),
            "to_running": self.phase_figures(began, middle, winners),
            "to_deleted": self.phase_figures(middle, end, winners),
            "running_untold_on_manager": untold,
            "jobs_by_worker": _counted(winners),
        }

    def _manager_client(self, seen: Watching) -> Any:
        return seen.clients[self.federation.spec.clusters[0].name]

    def reading(self) -> Reading:
        return Reading(time.monotonic(), federation_usage.read(self.federation), self.logs.marks() if self.logs else {})

    async def _phase(self, seen: Watching, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(self.timeout_seconds):
            await seen.news.until(condition)

    async def _told(self, seen: Watching, sent: dict[str, float]) -> int:
        """How many Jobs run without the manager's saying so, after a while: the peer misses one now and then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TOLD_SECONDS):
                await seen.news.until(lambda: _all_in(sent, seen.manager.ready))
        return len(sent.keys() - seen.manager.ready.keys())

    async def quiet(self, prefix: str) -> None:
        """Waits until nobody has written an object whose name holds ``prefix`` for a while."""
        if self.logs is not None:
            await self.logs.quiet(prefix)

    def phase_figures(self, start: Reading, end: Reading, winners: dict[str, str]) -> Figures:
        """CPU seconds and writes between two moments, for each of ``winners``: Jobs and where they ran."""
        jobs, spent = len(winners), federation_usage.spent(start.usages, end.usages)
        servers = federation_usage.api_servers(self.federation).values()
        controllers = federation_usage.controllers(self.federation)
        writes: WritesPerJob | None = None
        if self.logs is not None:
            found = self.logs.between(start.marks, end.marks)
            manager = self.federation.spec.clusters[0].name
            writes = federation_writes.per_job(found, manager, self.contender.programs, winners)
        return {
            "seconds": round(end.at - start.at, 2),
            "api_server_cpu_seconds_per_job": round(sum(spent[name] for name in servers) / jobs, 4),
            "hub_cpu_seconds_per_job": round(spent.get("hub", 0.0) / jobs, 4),
            "agents_cpu_seconds_per_job": round(sum(spent[name] for name in controllers if name != "hub") / jobs, 4),
            "cpu_seconds": {name: round(seconds, 2) for name, seconds in spent.items()},
            "writes_per_job": asdict(writes) if writes else None,
        }


def _all_in(wanted: dict[str, float], found: dict[str, float]) -> bool:
    return wanted.keys() <= found.keys()


def _counted(winners: dict[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for worker in winners.values():
        found[worker] = found.get(worker, 0) + 1
    return dict(sorted(found.items()))

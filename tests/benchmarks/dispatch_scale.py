"""The rate over many workers beside that over few, on embedded API servers, and what idle agents use.

All processes share the machine's cores, and every worker brings two: what more workers cost the hub shows in its CPU
seconds for each job, what they cost the machine in the rate.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks import dispatch_table, federation_usage
from tests.benchmarks.dispatch_rig import CAPACITY_AWARE, Rig
from tests.benchmarks.dispatch_run import Figures, Run
from tests.benchmarks.federation_load import Load, watching

IDLE_SECONDS = 15.0
WARM_UP_JOBS_PER_WORKER = 2
"""As many before the measurement: what a program does once, the first time, is no part of a rate."""
RATE_KEPT = 0.8
IDLE_SHARE = 0.005


def run(workers: list[int], jobs: int, seconds: float, console: Console, say: Callable[[str], None]) -> Figures:
    """One federation after the other, each with its own number of workers."""
    rows = []
    for count in workers:
        with tempfile.TemporaryDirectory(prefix="fedhub-dispatch-") as scratch:
            rig = Rig(Path(scratch), workers=count, room_for_jobs=jobs, real=False)
            try:
                rows.append(asyncio.run(_measure(rig, jobs, seconds, say)))
            finally:
                rig.stop()
    verdicts = _judged(rows)
    _show(rows, console)
    dispatch_table.show_verdicts(verdicts, console)
    return {"rows": rows, "targets": verdicts}


async def _measure(rig: Rig, jobs: int, seconds: float, say: Callable[[str], None]) -> Figures:
    await rig.start(say)
    measured = Run(rig.federation, CAPACITY_AWARE, seconds)
    async with watching(rig.federation) as seen:
        await measured.measure(seen, Load(WARM_UP_JOBS_PER_WORKER * len(rig.federation.spec.workers), prefix="warm"))
    idle = await _idle_shares(rig)
    async with watching(rig.federation) as seen:
        figures = await measured.measure(seen, Load(jobs))
    say(f"{len(rig.federation.spec.workers)} workers: {figures['jobs_per_second']} jobs/s")
    return figures | {"workers": len(rig.federation.spec.workers), "idle_shares_of_a_core": idle}


async def _idle_shares(rig: Rig) -> dict[str, float]:
    """Of one core, by process, while nothing is asked of the federation."""
    await asyncio.sleep(IDLE_SECONDS / 3)  # reports of the load before are written by then
    before = federation_usage.read(rig.federation)
    await asyncio.sleep(IDLE_SECONDS)
    spent = federation_usage.spent(before, federation_usage.read(rig.federation))
    return {name: round(seconds / IDLE_SECONDS, 5) for name, seconds in spent.items()}


def _agents(shares: dict[str, float]) -> list[float]:
    return [share for name, share in shares.items() if name.startswith("agent-")]


def _judged(rows: list[Figures]) -> list[Figures]:
    base, found = rows[0], []
    for row in rows:
        idle = max(_agents(row["idle_shares_of_a_core"]))
        found.append(_verdict(row, f"{row['workers']} workers: idle agent, share of a core", idle, IDLE_SHARE))
        if row is not base:
            what = f"{row['workers']} workers: rate, times that of {base['workers']}"
            found.append(_verdict(row, what, _kept(row, base), RATE_KEPT, at_least=True))
    return found


def _kept(row: Figures, base: Figures) -> float:
    """The share of the rate over the fewest workers that is left over these."""
    return round(float(row["jobs_per_second"]) / float(base["jobs_per_second"]), 3)


def _verdict(row: Figures, what: str, value: float, limit: float, *, at_least: bool = False) -> Figures:
    met = value >= limit if at_least else value <= limit
    return {
        "who": row["contender"],
        "jobs": row["jobs"],
        "what": what,
        "value": value,
        "target": f"{'>=' if at_least else '<='} {limit:g}",
        "met": met,
    }


def _show(rows: list[Figures], console: Console) -> None:
    table = Table(title="Embedded API servers: how the rate goes with the number of workers")
    for heading in (
        "workers",
        "Jobs",
        "jobs/s",
        "times the first",
        "p50 s",
        "p99 s",
        "hub CPU s/job",
        "agents CPU s/job",
        "API servers CPU s/job",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        waits, phase = row["creation_to_running_seconds"], row["to_running"]
        figures = (
            row["jobs_per_second"],
            _kept(row, rows[0]),
            waits["p50"],
            waits["p99"],
            phase["hub_cpu_seconds_per_job"],
            phase["agents_cpu_seconds_per_job"],
            phase["api_server_cpu_seconds_per_job"],
        )
        table.add_row(f"{row['workers']}", f"{row['jobs']}", *(f"{figure:g}" for figure in figures))
    console.print(table)

"""Figures of the dispatch benchmark as a table, each target judged beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.dispatch_run import Figures

PEER_RAISED = {"jobs_per_second": 3.3, "p50": 59.0}
"""Kueue's development version, its worker clients raised to 1,000 requests a second: 300 Jobs, this machine kind."""


@dataclass(frozen=True, slots=True)
class Target:
    """A limit on a figure of our capacity-aware policy; ``get`` gives None where the run has no such figure."""

    what: str
    get: Callable[[Figures], float | None]
    limit: float
    at_least: bool = False

    def met(self, figures: Figures) -> bool | None:
        value = self.get(figures)
        if value is None:
            return None
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def text(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


def _writes(phase: str, what: str) -> Callable[[Figures], float | None]:
    def get(figures: Figures) -> float | None:
        writes = figures[phase]["writes_per_job"]
        return round(writes[what], 2) if writes else None

    return get


def events(figures: Figures) -> float | None:
    both = [figures[phase]["writes_per_job"] for phase in ("to_running", "to_deleted")]
    return round(sum(writes["events"] for writes in both), 2) if all(both) else None


def copies_not_admitted(figures: Figures) -> float | None:
    """Share of the copies made on workers that did not run the job."""
    writes = figures["to_running"]["writes_per_job"]
    return round(1 - 1 / max(1.0, writes["copies"]), 3) if writes else None


def api_server_cpu(figures: Figures) -> float:
    """Seconds for each job, all API servers, from its creation to its end."""
    phases = (figures["to_running"], figures["to_deleted"])
    return round(sum(phase["api_server_cpu_seconds_per_job"] for phase in phases), 4)


def _phase(phase: str, what: str) -> Callable[[Figures], float]:
    return lambda figures: float(figures[phase][what])


TARGETS: Sequence[Target] = (
    Target("load generation, share of the interval", lambda f: float(f["load_share_of_interval"]), 0.1),
    Target("writes to running, manager", _writes("to_running", "manager"), 7),
    Target("writes to running, winning worker", _writes("to_running", "winner"), 5),
    Target("writes running to deleted, manager", _writes("to_deleted", "manager"), 4),
    Target("writes running to deleted, winning worker", _writes("to_deleted", "winner"), 5),
    Target("events, all clusters, to the end", events, 4),
    Target("copies not admitted", copies_not_admitted, 0.02),
)
SHOWN: Sequence[tuple[str, Callable[[Figures], Any]]] = (
    ("jobs/s, first creation to last running", lambda f: f["jobs_per_second"]),
    ("creation to running p50, s", lambda f: f["creation_to_running_seconds"]["p50"]),
    ("creation to running p99, s", lambda f: f["creation_to_running_seconds"]["p99"]),
    ("running to all finished, s", lambda f: f["seconds_to_all_finished"]),
    ("running to all gone, s", lambda f: f["seconds_to_all_gone"]),
    ("writes on workers that lost", _writes("to_running", "others")),
    ("API server CPU to running, s per job", _phase("to_running", "api_server_cpu_seconds_per_job")),
    ("API server CPU to deleted, s per job", _phase("to_deleted", "api_server_cpu_seconds_per_job")),
    ("hub CPU to running, s per job", _phase("to_running", "hub_cpu_seconds_per_job")),
    ("agents CPU to running, s per job", _phase("to_running", "agents_cpu_seconds_per_job")),
    ("hub CPU to deleted, s per job", _phase("to_deleted", "hub_cpu_seconds_per_job")),
    ("agents CPU to deleted, s per job", _phase("to_deleted", "agents_cpu_seconds_per_job")),
)


def ratios(peer: Figures) -> list[Target]:
    """Targets against the peer on the same number of Jobs in the same run."""
    p50 = peer["creation_to_running_seconds"]["p50"]
    return [
        Target(
            "jobs/s, times the peer's", lambda f: round(f["jobs_per_second"] / peer["jobs_per_second"], 2), 2.5, True
        ),
        Target(
            "API server CPU per job, times the peer's",
            lambda f: round(api_server_cpu(f) / api_server_cpu(peer), 3),
            0.4,
        ),
        Target("p50, times the peer's", lambda f: round(f["creation_to_running_seconds"]["p50"] / p50, 3), 0.35),
    ]


def written_down(figures: Figures) -> list[Target]:
    """Targets against the figures that are written down for the peer with raised limits; for 300 Jobs."""
    if figures["jobs"] != 300:
        return []
    return [
        Target(
            "jobs/s, times 3.3 (peer raised)",
            lambda f: round(f["jobs_per_second"] / PEER_RAISED["jobs_per_second"], 2),
            2.5,
            True,
        ),
        Target(
            "p50, times 59 s (peer raised)",
            lambda f: round(f["creation_to_running_seconds"]["p50"] / PEER_RAISED["p50"], 3),
            0.35,
        ),
    ]


def judged(rows: list[Figures], own: Sequence[str], peer: str) -> list[Figures]:
    """What each target of our policy came to, in each of its settings ``own``."""
    found = []
    for figures in rows:
        if figures["contender"] not in own:
            continue
        beside = next((r for r in rows if r["contender"] == peer and r["jobs"] == figures["jobs"]), None)
        targets = [*TARGETS, *written_down(figures), *(ratios(beside) if beside else ())]
        for target in targets:
            if (met := target.met(figures)) is not None:
                value = target.get(figures)
                found.append(
                    {
                        "who": figures["contender"],
                        "jobs": figures["jobs"],
                        "what": target.what,
                        "value": value,
                        "target": target.text,
                        "met": met,
                    }
                )
    return found


def show(rows: list[Figures], verdicts: list[Figures], console: Console) -> None:
    table = Table(title="Dispatch: who, over how many Jobs")
    table.add_column("")
    for figures in rows:
        table.add_column(f"{figures['contender']}\n{figures['jobs']} Jobs", justify="right")
    shown = [*SHOWN, *((target.what, target.get) for target in TARGETS)]
    for what, get in shown:
        values = [get(figures) for figures in rows]
        if any(value is not None for value in values):
            table.add_row(what, *("-" if value is None else f"{value:g}" for value in values))
    console.print(table)
    for figures in rows:
        _show_writes(figures, console)
    if verdicts:
        show_verdicts(verdicts, console)


def _show_writes(figures: Figures, console: Console) -> None:
    """Who wrote what, for each Job, in the order of the phases and of their number."""
    phases = {"to running": figures["to_running"], "to deleted": figures["to_deleted"]}
    told = {name: phase["writes_per_job"]["details"] for name, phase in phases.items() if phase["writes_per_job"]}
    if not told:
        return
    table = Table(title=f"{figures['contender']}, {figures['jobs']} Jobs: writes for each")
    for heading in ("phase", "where, who, what", "for each Job"):
        table.add_column(heading)
    for phase, details in told.items():
        for what, count in details.items():
            table.add_row(phase, what, f"{count:.2f}")
    console.print(table)


def show_verdicts(verdicts: list[Figures], console: Console) -> None:
    table = Table(title="Targets of our policy")
    for heading in ("who", "Jobs", "what", "value", "target", ""):
        table.add_column(heading)
    for verdict in verdicts:
        told = "[green]met[/]" if verdict["met"] else "[red]missed[/]"
        table.add_row(
            verdict["who"], f"{verdict['jobs']}", verdict["what"], f"{verdict['value']:g}", verdict["target"], told
        )
    console.print(table)

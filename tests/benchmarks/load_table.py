"""Figures of the load benchmark as a table, each target judged beside them."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks import dispatch_table
from tests.benchmarks.dispatch_run import Figures
from tests.benchmarks.dispatch_table import Target

ATTEMPT_SECONDS = 0.025


def _writes(what: str) -> Callable[[Figures], float]:
    return lambda figures: round(float(figures["to_running"]["writes_per_job"][what]), 2)


def _phase(phase: str, what: str) -> Callable[[Figures], float]:
    return lambda figures: float(figures[phase][what])


def _of_workloads(what: str) -> Callable[[Figures], float | None]:
    def get(figures: Figures) -> float | None:
        found: Figures = figures["workloads"].get("to_admitted", {}) | figures["workloads"]
        value: float | None = found.get(what)
        return value

    return get


TARGETS: Sequence[Target] = (
    Target("writes from creation to start, a Job", _writes("to_start"), 4),
    Target("events to running, a Job", _writes("events"), 2),
    Target("admission attempt p99, s at most", lambda f: f["admission_attempt_p99_seconds_at_most"], ATTEMPT_SECONDS),
)
SHOWN: Sequence[tuple[str, Callable[[Figures], Any]]] = (
    ("Jobs", lambda f: f["jobs"]),
    ("jobs/s, first creation to last running", lambda f: f["jobs_per_second"]),
    ("creation to running p50, s", lambda f: f["creation_to_running_seconds"]["p50"]),
    ("creation to running p99, s", lambda f: f["creation_to_running_seconds"]["p99"]),
    ("writes to running, a Job", _writes("manager")),
    ("API server CPU to running, s a Job", _phase("to_running", "api_server_cpu_seconds_per_job")),
    ("API server CPU to deleted, s a Job", _phase("to_deleted", "api_server_cpu_seconds_per_job")),
    ("controller CPU to running, s a Job", _phase("to_running", "agents_cpu_seconds_per_job")),
    ("controller CPU to deleted, s a Job", _phase("to_deleted", "agents_cpu_seconds_per_job")),
    ("controller memory at most, MiB", lambda f: f["controller_peak_mib"]),
    ("Workloads", _of_workloads("workloads")),
    ("Workloads admitted a second", _of_workloads("workloads_per_second")),
    ("API server CPU, s a Workload", _of_workloads("api_server_cpu_seconds_per_job")),
    ("controller CPU, s a Workload", _of_workloads("agents_cpu_seconds_per_job")),
)


def ratios(peer: Figures) -> list[Target]:
    """Targets against the peer in the same run."""
    return [
        Target(
            "jobs/s, times the peer's", lambda f: round(f["jobs_per_second"] / peer["jobs_per_second"], 2), 1.0, True
        ),
        Target(
            "API server CPU a Job, times the peer's",
            lambda f: round(dispatch_table.api_server_cpu(f) / dispatch_table.api_server_cpu(peer), 3),
            0.75,
        ),
    ]


def judged(rows: Sequence[Figures], peer: str) -> list[Figures]:
    """What each target came to in every row that is not the peer's."""
    beside = next((row for row in rows if row["contender"] == peer), None)
    targets = [*TARGETS, *(ratios(beside) if beside else ())]
    return [
        {
            "who": row["contender"],
            "jobs": row["jobs"],
            "what": target.what,
            "value": target.get(row),
            "target": target.text,
            "met": target.met(row),
        }
        for row in rows
        if row["contender"] != peer
        for target in targets
        if target.get(row) is not None
    ]


def show(rows: Sequence[Figures], verdicts: list[Figures], console: Console) -> None:
    table = Table(title="Load on one cluster, everybody with all webhooks and integrations as installed")
    for heading in ("", *(row["contender"] for row in rows)):
        table.add_column(heading, justify="right" if heading else "left")
    for what, get in (*SHOWN, *((target.what, target.get) for target in TARGETS)):
        values = [get(row) for row in rows]
        table.add_row(what, *("-" if value is None else f"{value:g}" for value in values))
    console.print(table)
    dispatch_table.show_verdicts(verdicts, console)

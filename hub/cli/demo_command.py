"""``fedhub demo``: a federation, jobs, live progress, and a table of what ran where and why."""

import secrets
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli import local_commands, output
from hub.cli.local_commands import DEFAULT_STATE, ManifestFolder, Real, StateFolder
from hub.cli.output import Format

if TYPE_CHECKING:
    from hub.cli.live_progress import LiveProgress

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def demo(  # noqa: PLR0913, PLR0917 - the command's own options
    jobs: Annotated[int, typer.Option(min=1, max=100_000, help="How many jobs to submit.")] = 30,
    all_kinds: Annotated[
        bool,
        typer.Option("--all-kinds", help="One job of every kind instead of training Jobs; their operators are played."),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the federation running and print how to reach it.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds after which unfinished jobs count as failed.")] = 300,
    state: StateFolder = DEFAULT_STATE,
    manifests: ManifestFolder = None,
    real: Real = False,
    output_format: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.TABLE,
) -> None:
    """Run training jobs through a local federation and show where each ran and why.

    A federation that already runs in the state folder is used and left running. Exits 0 only when every job finished.

    Examples:

    fedhub demo

    fedhub demo --jobs 300 --keep

    fedhub demo --all-kinds
    """
    from hub.local import spec  # noqa: PLC0415 - imports that take long wait until they are needed
    from hub.local.layout import Layout  # noqa: PLC0415

    try:
        folder = manifests or spec.shipped()
        found = spec.load(folder)
        if all_kinds:
            found = found.model_copy(update={"job_kinds": True})
    except spec.SpecError as error:
        output.fail(error, 2)
    if found.manager is None:
        output.fail(f"{folder / 'federation.yaml'}: manager: required by the demo", 2)
    options = {"jobs": 0 if all_kinds else jobs, "keep": keep, "timeout": timeout, "state": state, "real": real}
    rows, unfinished = _run(found, folder, options)
    _report(rows, output_format)
    if keep:
        local_commands.tell_access(Layout(state.resolve()), [cluster.name for cluster in found.clusters])
    if unfinished:
        for row in unfinished:
            output.say(f"{row.job} is {row.stage}: {row.why or 'nothing is known of it yet'}")
        output.fail(
            f"{len(unfinished)} of {len(rows)} jobs did not finish; the logs are in {Layout(state.resolve()).logs}"
        )


def _run(found: Any, folder: Path, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Starts what is needed, follows the jobs, stops what was started; Ctrl-C and SIGTERM stop cleanly too."""
    import asyncio  # noqa: PLC0415

    from hub.local import federation as local  # noqa: PLC0415
    from hub.local.demo_board import Stage  # noqa: PLC0415
    from hub.local.layout import Layout  # noqa: PLC0415

    layout = Layout(options["state"].resolve())
    federation = local.Federation(found, folder, layout, real=options["real"])
    reused = any(process.alive for process in local.existing(layout))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        started = time.monotonic()
        if not reused:
            asyncio.run(federation.up(output.say))
            output.say(f"the federation is up after {time.monotonic() - started:.1f} s")
        rows = asyncio.run(_follow(layout, found.manager.name, folder, options))
    except local.FederationError as error:
        federation.down()
        output.fail(error)
    except KeyboardInterrupt:
        federation.down()
        output.fail(
            "interrupted; the federation that was running goes on"
            if reused
            else "interrupted; everything that was started is stopped",
            130,
        )
    if not options["keep"] and not reused:
        federation.down()
    return rows, [row for row in rows if row.stage not in (Stage.FINISHED, Stage.SERVING)]


async def _follow(layout: Any, manager: str, folder: Path, options: dict[str, Any]) -> list[Any]:
    from hub.local import demo_jobs, demo_kinds  # noqa: PLC0415
    from hub.local.demo import Demo  # noqa: PLC0415
    from hub.local.federation import connect  # noqa: PLC0415
    from hub.local.spec import documents  # noqa: PLC0415

    run = "".join(secrets.choice(ALPHABET) for _ in range(4))
    count = options["jobs"]
    made = demo_jobs.make(documents(folder / "jobs"), count, run) if count else demo_kinds.make(run)
    async with connect(layout, manager) as client:
        with _Board(len(made)) as board:
            return await Demo(client, made, run, board.show).follow(options["timeout"])


class _Board:
    """Progress while jobs run: a live picture on a terminal, a line per change of the counts elsewhere."""

    LINE_EVERY_SECONDS = 1.0

    def __init__(self, total: int) -> None:
        self._total = total
        self._printed = ("", 0.0)
        self._live: LiveProgress | None = None

    def __enter__(self) -> "_Board":
        if sys.stderr.isatty():
            from hub.cli.live_progress import LiveProgress  # noqa: PLC0415

            self._live = LiveProgress(self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, rows: list[Any]) -> None:
        from hub.local import demo_board  # noqa: PLC0415

        counts = demo_board.counts(rows)
        where: dict[str, int] = {}
        for row in rows:
            if row.stage is demo_board.Stage.RUNNING:
                where[row.cluster] = where.get(row.cluster, 0) + 1
        text = ", ".join(f"{counts[stage]} {stage}" for stage in demo_board.Stage if counts[stage])
        if where:
            text += " (" + ", ".join(f"{cluster} {count}" for cluster, count in sorted(where.items())) + ")"
        if self._live:
            self._live.show(counts[demo_board.Stage.FINISHED], text)
        elif text != self._printed[0] and (
            time.monotonic() - self._printed[1] > self.LINE_EVERY_SECONDS
            or counts[demo_board.Stage.FINISHED] == self._total
        ):
            self._printed = (text, time.monotonic())
            output.say(text)


def _report(rows: list[Any], format_: Format) -> None:
    """The closing table: job, cluster, waited, ran, why that cluster."""
    if format_ in (Format.JSON, Format.YAML):
        output.structured(
            [
                {
                    "job": r.job,
                    "kind": r.kind,
                    "stage": str(r.stage),
                    "cluster": r.cluster,
                    "waited": r.waited,
                    "ran": r.ran,
                    "why": r.why,
                }
                for r in rows
            ],
            format_,
        )
        return
    wide = format_ is Format.WIDE
    output.table(
        ["job", "kind", "stage", "cluster", "waited", "ran", "why that cluster"],
        [
            [
                row.job,
                row.kind,
                str(row.stage),
                row.cluster,
                _seconds(row.waited),
                _seconds(row.ran),
                _why(row.why, wide),
            ]
            for row in rows
        ],
    )
    used = sorted({row.cluster for row in rows if row.cluster})
    sys.stdout.flush()
    output.say(f"{len(rows)} jobs on {len(used)} clusters: {', '.join(used) or 'none'}")


def _why(text: str, wide: bool) -> str:
    from hub.local import demo_board  # noqa: PLC0415

    return text if wide else demo_board.brief(text)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}s"

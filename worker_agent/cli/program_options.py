"""Command-line options that both programs share."""

from pathlib import Path
from typing import Annotated

import typer

from worker_agent.api.program_version import VERSION


def _tell_version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        print(f"{context.command.name} {VERSION}")
        raise typer.Exit


ShowVersion = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_tell_version)
]

FeatureGates = Annotated[
    str,
    typer.Option(help="Switches as Name=true|false, separated by commas; not together with featureGates of --config."),
]
LogLevel = Annotated[
    str,
    typer.Option(
        "--zap-log-level",
        metavar="LEVEL",
        help="debug, info, warning, error, panic, or a number: 1 to 3 are info, more is debug."
        " SIGUSR1 sends a running program to debug and back; SIGUSR2 writes its queues into the log.",
    ),
]
LogEncoder = Annotated[
    str, typer.Option("--zap-encoder", metavar="ENCODER", help="json or console; console on a terminal, else json.")
]
LogTime = Annotated[
    str,
    typer.Option(
        "--zap-time-encoding", metavar="TIME", help="epoch, millis, nano, iso8601, rfc3339 or rfc3339nano (default)."
    ),
]
LogStacktrace = Annotated[
    str,
    typer.Option(
        "--zap-stacktrace-level",
        metavar="LEVEL",
        help="info, error or panic (default): where lines say what led to them.",
    ),
]
LogDevelopment = Annotated[bool, typer.Option("--zap-devel", help="Text at level debug, unless told otherwise.")]
Config = Annotated[Path | None, typer.Option(help="Settings file in Kueue's Configuration schema.")]

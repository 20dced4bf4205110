"""``fedhub-agent run``: the agent of one cluster."""

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from worker_agent.cli.program_options import (
    Config,
    FeatureGates,
    LogDevelopment,
    LogEncoder,
    LogLevel,
    LogStacktrace,
    LogTime,
)

if TYPE_CHECKING:
    import asyncio

    from worker_agent.kube.transport import Transport

Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="Kubeconfig of the cluster; without it KUBECONFIG or ~/.kube/config, in a pod its account."),
]
Context = Annotated[str, typer.Option(help="Context of the kubeconfig; empty takes its current one.")]
Record = Annotated[
    Path | None, typer.Option(help="Write all that reaches the engine to this file, for fedhub-agent replay.")
]


def run(  # noqa: PLR0913 - the program's own options
    *,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    feature_gates: FeatureGates = "",
    record: Record = None,
    zap_log_level: LogLevel = "",
    zap_encoder: LogEncoder = "",
    zap_time_encoding: LogTime = "",
    zap_stacktrace_level: LogStacktrace = "",
    zap_devel: LogDevelopment = False,
) -> None:
    """Run the agent: queues, quota, admission and jobs of one cluster, and the report of its capacity.

    Example: fedhub-agent run --config agent.yaml --kubeconfig ~/.kube/config --context oregon
    """
    from worker_agent.app import program  # noqa: PLC0415 - imports that take long wait until they are needed
    from worker_agent.cli import process  # noqa: PLC0415
    from worker_agent.cli.program_log import LogOptions  # noqa: PLC0415
    from worker_agent.settings import AgentSettings  # noqa: PLC0415
    from worker_agent.settings_source import SettingsError, load  # noqa: PLC0415

    try:
        settings = load(AgentSettings, config, feature_gates)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    stream = _recording(record) if record else None

    async def work(transport: "Transport", stop: "asyncio.Event") -> None:
        await program.run_agent(settings, transport, stop, record=stream)

    log = LogOptions(zap_log_level, zap_encoder, zap_time_encoding, zap_stacktrace_level, zap_devel)
    raise typer.Exit(process.main(work, kubeconfig, context, log))


def _recording(path: Path) -> IO[bytes]:
    """A new file: what an earlier run recorded is not overwritten."""
    try:
        if path.exists() and path.stat().st_size:
            raise FileExistsError(0, "holds a recording already; name a new file")
        return path.open("wb")
    except OSError as error:
        print(f"error: --record: {path}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(2) from None

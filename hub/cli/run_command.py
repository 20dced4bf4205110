"""``fedhub run``: the hub on a manager cluster."""

from pathlib import Path
from typing import Annotated

import typer

from hub.cli import output
from worker_agent.cli.program_options import (
    FeatureGates,
    LogDevelopment,
    LogEncoder,
    LogLevel,
    LogStacktrace,
    LogTime,
)

Config = Annotated[Path | None, typer.Option(help="Settings file (Kueue's Configuration and a federation stanza).")]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="Kubeconfig of the manager; without it KUBECONFIG or ~/.kube/config, in a pod its account."),
]
Context = Annotated[str, typer.Option(help="Context of the kubeconfig; empty takes its current one.")]


def run(  # noqa: PLR0913 - the program's own options
    *,
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    feature_gates: FeatureGates = "",
    zap_log_level: LogLevel = "",
    zap_encoder: LogEncoder = "",
    zap_time_encoding: LogTime = "",
    zap_stacktrace_level: LogStacktrace = "",
    zap_devel: LogDevelopment = False,
) -> None:
    """Run the hub: the global queues of the manager cluster and the dispatch to its workers.

    Example: fedhub run --config hub.yaml --kubeconfig ~/.kube/config --context manager
    """
    from hub.app import program  # noqa: PLC0415 - imports that take long wait until they are needed
    from hub.settings import HubSettings  # noqa: PLC0415
    from worker_agent.cli.program_log import LogOptions  # noqa: PLC0415
    from worker_agent.settings_source import SettingsError, load  # noqa: PLC0415

    try:
        settings = load(HubSettings, config, feature_gates)
    except SettingsError as error:
        output.fail(error, 2)
    log = LogOptions(zap_log_level, zap_encoder, zap_time_encoding, zap_stacktrace_level, zap_devel)
    raise typer.Exit(program.main(settings, kubeconfig, context, log))

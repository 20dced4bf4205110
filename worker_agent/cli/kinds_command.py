"""``fedhub-agent kinds``: which job kinds are enabled, which of them the cluster serves, and where they can run."""

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from worker_agent.cli import structured
from worker_agent.cli.program_options import Config, FeatureGates
from worker_agent.cli.run_command import Context, Kubeconfig
from worker_agent.cli.structured import Output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from worker_agent.api.job_kind import JobKind
    from worker_agent.cli.served_kinds import ServedKind
    from worker_agent.kube.transport import Transport

Format = Annotated[Output, typer.Option("--output", "-o", help="How the list is printed.")]


def kinds(
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    feature_gates: FeatureGates = "",
    output: Format = Output.TEXT,
) -> None:
    """List the job kinds that the agent of this cluster is set to serve, and whether their definitions are there.

    Reads the cluster, writes nothing. Pass the --config of the agent: it says which integrations are enabled and which
    kinds of your own are declared. A kind whose definition arrives later is served from then on.

    Example: fedhub-agent kinds --config agent.yaml --context oregon
    """
    import asyncio  # noqa: PLC0415 - imports that take long wait until they are needed

    from worker_agent.app import configuration  # noqa: PLC0415
    from worker_agent.cli import process, served_kinds  # noqa: PLC0415
    from worker_agent.engine.feature_gates import FeatureGateError  # noqa: PLC0415
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415
    from worker_agent.settings import AgentSettings  # noqa: PLC0415
    from worker_agent.settings_source import SettingsError, load  # noqa: PLC0415

    try:
        enabled = configuration.resolve(load(AgentSettings, config, feature_gates)).kinds
        found = asyncio.run(_ask(process.connect(kubeconfig, context), enabled.values()))
    except (SettingsError, configuration.ConfigurationError, FeatureGateError, KubeconfigError) as error:
        _fail(error, 2)
    except ApiError as error:
        _fail(error.message, 1)
    except (ConnectionError, OSError) as error:
        _fail(f"the API server cannot be reached: {error}", 1)
    if output.for_people:
        for line in served_kinds.lines(found):
            print(line)
        return
    structured.write(found, output)


async def _ask(transport: "Transport", enabled: "Iterable[JobKind]") -> "list[ServedKind]":
    from worker_agent.cli import served_kinds  # noqa: PLC0415
    from worker_agent.kube.client import Client  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    try:
        return await served_kinds.ask(Client(transport, SystemClock(), user_agent="fedhub-agent kinds"), enabled)
    finally:
        await transport.close()


def _fail(problem: object, code: int) -> NoReturn:
    print(f"error: {problem}", file=sys.stderr)
    raise typer.Exit(code)

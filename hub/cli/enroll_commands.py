"""``fedhub enroll`` and ``unenroll``: invite a worker whose agent dials in, and end its membership."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli import manager_client, output
from hub.cli.output import Format
from hub.cli.run_command import Config, Context, Kubeconfig

if TYPE_CHECKING:
    from hub.settings import HubSettings
    from worker_agent.kube.client import Client

Output = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]


def enroll(  # noqa: PLR0913, PLR0917 - the command's own options
    cluster: Annotated[str, typer.Argument(help="The MultiKueueCluster; it is created where there is none.")],
    hub: Annotated[
        list[str] | None,
        typer.Option(
            help="Address of the hub as agents reach it, https://host:port: one for all replicas, or one of each; "
            "default: federation.agents.addresses."
        ),
    ] = None,
    token_lifetime: Annotated[str, typer.Option(help="How long the token may be used, e.g. 30m or 24h.")] = "1h",
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = Format.TABLE,
) -> None:
    """Issue a one-time token for a worker cluster and print the command that joins it.

    The token is shown once and kept as a hash. The hub needs no access to the worker, the worker no open port.

    Example: fedhub enroll oregon --config hub.yaml
    """
    from hub.app import enrolling  # noqa: PLC0415 - imports that take long wait until they are needed
    from worker_agent.api import durations, timestamps  # noqa: PLC0415
    from worker_agent.tunnel import protocol  # noqa: PLC0415

    settings = _settings(config)
    try:
        lifetime: timedelta = durations.parse(token_lifetime)
    except ValueError as error:
        output.fail(f"--token-lifetime: {error}", 2)
    try:
        hubs = tuple(protocol.address(each) for each in hub or settings.federation.agents.addresses)
    except ValueError as error:
        output.fail(f"{'--hub' if hub else 'federation.agents.addresses:'} {error}", 2)
    if lifetime <= timedelta(0):
        output.fail(f"--token-lifetime: {token_lifetime}: must be more than 0s", 2)
    if not hubs:
        output.fail(
            "the hub's address is unknown: give --hub https://host:port, or --config with federation.agents.addresses",
            2,
        )
    if not protocol.is_agent_name(cluster):
        output.fail(f"CLUSTER: {cluster!r}: a name is made of lower case letters, digits, '-' and '.'", 2)

    async def work(client: "Client") -> None:
        invited = await enrolling.invite(client, settings.namespace, cluster, lifetime)
        command = invited.command(hubs)
        facts = {
            "cluster": cluster,
            "agent": invited.agent,
            "hubs": list(hubs),
            "caPin": invited.pin,
            "token": invited.token.text,
            "expires": timestamps.rfc3339(invited.expires_at),
            "created": invited.created,
            "command": command,
        }
        if output_format in (Format.JSON, Format.YAML):
            output.structured(facts, output_format)
            return
        if invited.created:
            output.say(f"MultiKueueCluster {cluster} created")
        output.say(f"run this where the kubeconfig of {cluster} is, until {facts['expires']}:")
        print(command)

    _run(work, kubeconfig, context)


def unenroll(
    cluster: Annotated[str, typer.Argument(help="The MultiKueueCluster.")],
    config: Config = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = Format.TABLE,
) -> None:
    """Withdraw a worker's certificate and tokens: its connections end now, and it cannot come back by itself.

    The MultiKueueCluster stays; deleting it does the same. What runs on the worker goes on there.

    Example: fedhub unenroll oregon
    """
    from hub.app import enrolling  # noqa: PLC0415

    settings = _settings(config)

    async def work(client: "Client") -> None:
        found = await enrolling.withdraw(client, settings.namespace, cluster)
        if output_format in (Format.JSON, Format.YAML):
            output.structured({"cluster": cluster, "withdrawn": found}, output_format)
        elif found:
            output.say(f"the enrolment of {cluster} is withdrawn; its MultiKueueCluster, if there is one, stays")
            output.say(f"to forget the cluster too: kubectl delete multikueuecluster {cluster}")
        if not found:
            output.fail(f"no agent has enrolled as {cluster!r}, and no token waits for one")

    _run(work, kubeconfig, context)


def _settings(config: Any) -> "HubSettings":
    from hub.settings import HubSettings  # noqa: PLC0415
    from worker_agent.settings_source import SettingsError, load  # noqa: PLC0415

    try:
        return load(HubSettings, config)
    except SettingsError as error:
        output.fail(error, 2)


def _run(work: Callable[["Client"], Awaitable[None]], kubeconfig: Any, context: str) -> None:
    from hub.app.enrolling import EnrollingError  # noqa: PLC0415
    from hub.clusters.agents.enrolments import AuthorityUnusable  # noqa: PLC0415

    try:
        manager_client.run(work, kubeconfig, context)
    except (EnrollingError, AuthorityUnusable) as error:
        output.fail(error)

"""``fedhub-agent uninstall``: before the manifests of an installation are deleted."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from worker_agent.cli.join_command import Context, Kubeconfig

if TYPE_CHECKING:
    from worker_agent.kube.client import Client

Namespace = Annotated[str, typer.Option(help="Where the agent or the hub is installed.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def uninstall(
    kubeconfig: Kubeconfig = None, context: Context = "", namespace: Namespace = "fedhub-system", yes: Yes = False
) -> None:
    """Stop the agent or hub of a cluster and take its hands off everything, so that its manifests can be deleted.

    Jobs go on as they are: what runs runs to its end, what is suspended stays so. Delete the manifests afterwards.
    Needs the rights of an administrator; may be repeated, and ends a deletion that hangs on finalizers.

    Example: fedhub-agent uninstall --context oregon && kubectl --context oregon delete -k manifests/overlays/agent
    """
    from worker_agent.app import removal  # noqa: PLC0415 - imports that take long wait until they are needed
    from worker_agent.cli import process  # noqa: PLC0415
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

    async def work(client: "Client") -> None:
        await removal.remove(client, namespace, print)

    try:
        found = process.own_configuration(kubeconfig, context)
        if not yes:
            where = f"{found.context} ({found.server})" if found.context else found.server
            typer.confirm(f"Stop what runs in namespace {namespace} of {where}, for good?", abort=True)
        process.with_client(work, kubeconfig, context, "fedhub-agent-uninstall")
    except KubeconfigError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    except (removal.RemovalError, ApiError, ConnectionError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None

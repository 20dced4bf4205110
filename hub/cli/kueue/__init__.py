"""``fedhub kueue``: the commands of kueuectl, with its options and its output; also ``kubectl fedhub kueue``.

One file per group of commands, each loaded when it is needed; ``connection``, ``printing`` and ``selection`` hold the
options they share.
"""

from functools import partial

import typer

from hub.cli import flag_groups
from hub.cli.kueue import version_command
from hub.cli.kueue.connection import Connection
from worker_agent.cli.command_group import Group, add_deferred


def _create() -> typer.Typer:
    from hub.cli.kueue import create_commands  # noqa: PLC0415 - the other groups are not needed then

    return create_commands.app


def _list() -> typer.Typer:
    from hub.cli.kueue import list_commands  # noqa: PLC0415

    return list_commands.app


def _stop() -> typer.Typer:
    from hub.cli.kueue import stop_commands  # noqa: PLC0415

    return stop_commands.stop_app


def _resume() -> typer.Typer:
    from hub.cli.kueue import stop_commands  # noqa: PLC0415

    return stop_commands.resume_app


def _of_kubectl(command: str) -> typer.Typer:
    from hub.cli.kueue import passthrough_commands  # noqa: PLC0415

    return passthrough_commands.group(command)


app = typer.Typer(
    cls=Group,
    help="Queues and workloads of one cluster: the commands of kueuectl.",
    no_args_is_help=True,
)
add_deferred(app, "create", _create, "Create a ClusterQueue, a LocalQueue or a ResourceFlavor.")
add_deferred(app, "list", _list, "Show queues, flavors, workloads and pods.")
add_deferred(app, "stop", _stop, "Stop a workload or a queue.")
add_deferred(app, "resume", _resume, "Let a workload or a queue go on.")
for _command, _summary in (
    ("get", "Display a resource"),
    ("describe", "Show details of a resource"),
    ("edit", "Edit a resource on the server"),
    ("patch", "Update fields of a resource"),
    ("delete", "Delete a resource"),
):
    add_deferred(app, _command, partial(_of_kubectl, _command), f"{_summary}: kubectl's own command and options.")
app.command("version")(version_command.version)


@app.callback()
@flag_groups.expanded
def connection(connection: Connection) -> None:
    """Queues and workloads of one cluster: the commands of kueuectl, with its options and output.

    Connection options go before or after the command, as with kubectl. Exit codes: 0 done, 1 refused or not found,
    2 wrong use; get, describe, edit, patch and delete of queues end as kubectl does.
    """
    connection.precede()

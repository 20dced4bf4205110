"""``fedhub kueue``: the commands of kueuectl, with its options and its output; also ``kubectl fedhub kueue``.

One file per group of commands; ``connection``, ``printing`` and ``selection`` hold the options they share.
"""

import typer

from hub.cli import flag_groups
from hub.cli.kueue import (
    create_commands,
    list_commands,
    passthrough_commands,
    stop_commands,
    version_command,
)
from hub.cli.kueue.connection import Connection

app = typer.Typer(help="Queues and workloads of one cluster: the commands of kueuectl.", no_args_is_help=True)
app.add_typer(create_commands.app, name="create")
app.add_typer(list_commands.app, name="list")
app.add_typer(stop_commands.stop_app, name="stop")
app.add_typer(stop_commands.resume_app, name="resume")
passthrough_commands.add_to(app)
app.command("version")(version_command.version)


@app.callback()
@flag_groups.expanded
def connection(connection: Connection) -> None:
    """Queues and workloads of one cluster: the commands of kueuectl, with its options and output.

    Connection options go before or after the command, as with kubectl. Exit codes: 0 done, 1 refused or not found,
    2 wrong use; get, describe, edit, patch and delete of queues end as kubectl does.
    """
    connection.precede()

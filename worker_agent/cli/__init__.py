"""The ``fedhub-agent`` command: run the agent of one worker cluster, and ask why. ``main`` is the entry point."""

import typer

from worker_agent.cli import (
    explain_command,
    join_command,
    kinds_command,
    replay_command,
    run_command,
    uninstall_command,
)
from worker_agent.cli.command_group import Group
from worker_agent.cli.program_options import ShowVersion

app = typer.Typer(
    cls=Group,
    name="fedhub-agent",
    help="Admission engine of one worker cluster: quota, queues, jobs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_command.run)
app.command("join")(join_command.join)
app.command("leave")(join_command.leave)
app.command("replay")(replay_command.replay)
app.command("explain")(explain_command.explain)
app.command("kinds")(kinds_command.kinds)
app.command("uninstall")(uninstall_command.uninstall)


@app.callback()
def options(version: ShowVersion = False) -> None:
    """Options of the program itself; the rest are those of its commands."""


def main() -> None:
    """Runs the command line; wrong usage and wrong settings exit with 2, other failures with 1."""
    app()

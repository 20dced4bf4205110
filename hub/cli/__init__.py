"""The ``fedhub`` command: run the hub, or a whole federation on this machine.

``main`` is the entry point. One file per group of commands; what takes long to import is imported by the command that
needs it, so that ``--help`` and mistakes answer at once.
"""

import typer

from hub.cli import (
    cluster_commands,
    demo_command,
    doctor_command,
    enroll_commands,
    explain_commands,
    follow_commands,
    local_commands,
    run_command,
)
from worker_agent.cli.command_group import Group, add_deferred
from worker_agent.cli.program_options import ShowVersion


def _kueue() -> typer.Typer:
    from hub.cli import kueue  # noqa: PLC0415 - more commands than all the others

    return kueue.app


app = typer.Typer(
    cls=Group,
    name="fedhub",
    help="Federation hub for batch and training jobs on Kubernetes.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_command.run)
app.add_typer(cluster_commands.app, name="cluster")
add_deferred(app, "kueue", _kueue, "Queues and workloads of one cluster: the commands of kueuectl.")
app.command("explain")(explain_commands.explain)
app.command("doctor")(doctor_command.doctor)
app.command("what-if")(explain_commands.what_if)
app.command("logs")(follow_commands.logs)
app.command("pods")(follow_commands.pods)
app.command("events")(follow_commands.events)
app.command("enroll")(enroll_commands.enroll)
app.command("unenroll")(enroll_commands.unenroll)
app.command("demo")(demo_command.demo)
app.command("up")(local_commands.up)
app.command("down")(local_commands.down)
app.command("status")(local_commands.status)


@app.callback()
def options(version: ShowVersion = False) -> None:
    """Options of the program itself; the rest are those of its commands."""


def main() -> None:
    """Runs the command line; wrong usage and wrong settings exit with 2, other failures with 1."""
    app()

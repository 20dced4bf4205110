"""The ``fedhub-agent`` command: run the agent of one worker cluster. ``main`` is the entry point."""

import typer

from worker_agent.cli import replay_command, run_command

app = typer.Typer(
    name="fedhub-agent",
    help="Admission engine of one worker cluster: quota, queues, jobs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_command.run)
app.command("replay")(replay_command.replay)


@app.callback()
def _group() -> None:
    """Keeps ``run`` a command of its own while it is the only one."""


def main() -> None:
    """Runs the command line; wrong usage and wrong settings exit with 2, other failures with 1."""
    app()

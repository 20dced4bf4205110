"""Options come out as typer makes them, also where it is spared the work; deferred groups are whole groups."""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hub.cli.output import Format
from worker_agent.cli.command_group import Group, add_deferred, flowing

seen = {}
inner = typer.Typer(cls=Group, no_args_is_help=True)


@inner.command()
def take(  # noqa: PLR0917 - one of each sort
    names: Annotated[list[str] | None, typer.Argument()] = None,
    text: str = "",
    label: Annotated[list[str] | None, typer.Option()] = None,
    file: Annotated[Path | None, typer.Option()] = None,
    count: Annotated[int, typer.Option(min=1)] = 5,
    output: Annotated[Format, typer.Option()] = Format.TABLE,
    loud: bool = False,
) -> None:
    """Take them."""
    seen.update(names=names, text=text, label=label, file=file, count=count, output=output, loud=loud)


@inner.command()
def other() -> None:
    """Another one."""


app = typer.Typer(cls=Group)
add_deferred(app, "inner", lambda: inner, "A group.")
app.command("plain")(other)


def run(*arguments):
    seen.clear()
    return CliRunner().invoke(app, list(arguments))


def test_defaults():
    assert run("inner", "take").exit_code == 0
    nothing = {"names": None, "text": "", "label": None, "file": None}
    assert seen == {**nothing, "count": 5, "output": Format.TABLE, "loud": False}


def test_what_is_typed_is_of_its_type():
    typed = "inner take a b --text 7 --label x --label y --file f --count 3 --output json --loud"
    assert run(*typed.split()).exit_code == 0
    lists = {"names": ["a", "b"], "label": ["x", "y"]}
    assert seen == {**lists, "text": "7", "file": Path("f"), "count": 3, "output": Format.JSON, "loud": True}


@pytest.mark.parametrize("typed", ["--count 0", "--count many", "--output poem", "--file", "--nothing"])
def test_wrong_use_is_refused(typed):
    assert run("inner", "take", *typed.split()).exit_code == 2


def test_help_flows_and_keeps_its_paragraphs():
    assert flowing("Say it\nonce.\n\nExamples:\n\nrun a\n\nrun b") == "Say it once.\n\nExamples:\n\nrun a\n\nrun b"


def test_the_list_of_commands_names_a_deferred_group_and_its_summary():
    shown = run("--help").output
    assert "inner" in shown
    assert "A group." in shown


def test_a_deferred_group_has_its_commands_and_their_help():
    assert "Take them." in run("inner", "--help").output
    assert "--label" in run("inner", "take", "--help").output

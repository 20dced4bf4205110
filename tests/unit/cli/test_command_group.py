"""Options come out as typer makes them, also where it is spared the work; deferred groups are whole groups."""

import asyncio
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hub.cli import app as hub_app
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


UNTEXT = "a\udcff"
"""As Python gives bytes of the command line that are not UTF-8."""


async def _sent(text):
    async with asyncio.TaskGroup() as group:
        group.create_task(_encoded(text))


async def _encoded(text):
    text.encode()


@pytest.mark.parametrize("send", [str.encode, lambda text: asyncio.run(_sent(text))], ids=["at once", "in a task"])
def test_text_that_is_not_utf_8_is_wrong_use(send):
    refusing = typer.Typer(cls=Group)

    @refusing.command("send")
    def sending(text: str) -> None:
        send(text)

    refusing.command("other")(other)
    outer = typer.Typer(cls=Group)
    outer.add_typer(refusing, name="inner")
    result = CliRunner().invoke(outer, ["inner", "send", UNTEXT])
    assert (result.exit_code, result.stderr.count("error:")) == (2, 1)
    assert r"'a\udcff' is not UTF-8" in result.stderr


def test_names_of_files_need_not_be_utf_8():
    assert run("inner", "take", "--file", UNTEXT).exit_code == 0
    assert seen["file"] == Path(UNTEXT)


def test_what_an_ascii_terminal_cannot_show_is_no_wrong_use():
    failing = typer.Typer(cls=Group)
    failing.command("show")(lambda: "é".encode("ascii"))
    failing.command("other")(other)
    assert isinstance(CliRunner().invoke(failing, ["show"]).exception, UnicodeEncodeError)


AT_NO_SERVER = ["--server", "http://127.0.0.1:1"]


@pytest.mark.parametrize(
    "typed",
    [
        ["list", "lq", "-n", UNTEXT],
        ["create", "cq", UNTEXT],
        ["create", "cq", "q", "--cohort", UNTEXT],
        ["stop", "workload", UNTEXT],
        ["delete", "workload", UNTEXT],
    ],
    ids=" ".join,
)
def test_commands_of_kueue_refuse_names_that_are_not_utf_8(typed):
    result = CliRunner().invoke(hub_app, ["kueue", *typed, *AT_NO_SERVER])
    assert (result.exit_code, result.stderr.count("error:")) == (2, 1)
    assert "is not UTF-8" in result.stderr

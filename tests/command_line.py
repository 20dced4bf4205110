"""Commands of ``fedhub`` and ``fedhub-agent`` as their user types them, in the process of the tests.

What is under test is what they ask of API servers and what they say. Loading Python's and our modules, which is nearly
all that a process of its own would take, is tested by ``tests/unit/cli/test_start.py``.
"""

from dataclasses import dataclass

import typer
from typer.testing import CliRunner


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def typed(app: typer.Typer, *words: str, stdin: str = "") -> Said:
    """Runs the command line. What would end a program with a traceback is raised here."""
    done = CliRunner().invoke(app, list(words), input=stdin, catch_exceptions=False)
    return Said(done.exit_code, done.stdout, done.stderr)

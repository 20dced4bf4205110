"""kubectl, where a command is kubectl's own."""

import os
import shutil
import sys
from pathlib import Path

from hub.cli import output


def found(need: str) -> str:
    """The path of kubectl: that of PATH, else the one beside this Python. Ends the command where there is none."""
    beside = Path(sys.executable).parent / "kubectl"
    path = shutil.which("kubectl") or (str(beside) if beside.exists() else "")
    if not path:
        output.fail(f"{need}, which is not on PATH: {os.environ.get('PATH', '')!r}; install kubectl")
    return path


def become(arguments: list[str]) -> None:
    """Goes on as ``kubectl ARGUMENTS`` in this process: its output, its questions and its exit code."""
    program = found("this command is kubectl's")
    sys.stdout.flush()
    os.execv(program, [program, *arguments])

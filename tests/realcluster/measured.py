"""A program run to its end, and what it cost: its own CPU seconds and those of every process it started and waited for.

Control planes and programs of a local federation are among them, for whoever starts them waits for their end.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ended:
    """``output`` is what went to standard output and error; ``code`` is negative where a signal ended it."""

    code: int
    output: str
    cpu_seconds: float


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Ended:
    """Runs the command in ``folder`` and returns when it has ended."""
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        assert child.stdout is not None
        output = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return Ended(child.returncode, output, used.ru_utime + used.ru_stime)

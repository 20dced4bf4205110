"""One tier of tests on real time and real processes: ``python -m tests.repetition tests/integration``.

They share two cores with whatever else runs there, so a test that has no fault may fail. What failed is repeated once,
alone, in a process of its own when all others have ended: fixtures are made anew. What passes then is told as flaky,
with what it said at first, and does not fail the tier. Tiers on virtual time are none of this: there every failure is a
fault.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tests import run_report
from tests.run_report import FAILED, PASSED, Recorder, RunReport

MOST_REPEATED = 5
"""Where more fail, they do so for a reason, and a repetition only takes time."""

HEADING = "FLAKY, failed once and passed when repeated once:"


def worth_repeating(found: RunReport, code: int) -> list[str]:
    """The tests that failed in a run that ended with ``code``; none where it is not they that are to blame: what could
    not be collected, a run that crashed or was interrupted, too many failures."""
    failed = found.having(FAILED)
    faults = {found.tests[name].cause for name in failed}
    if code != pytest.ExitCode.TESTS_FAILED or not found.complete or len(faults) > MOST_REPEATED:
        return []
    return failed


def flaky_lines(output: Iterable[str], names: Sequence[str]) -> list[str]:
    """How flaky tests are told; ``output`` is what was printed when they failed."""
    if not names:
        return []
    printed = [line for text in output for line in text.splitlines()]
    return ["", *printed, "", HEADING, *(f"  {name}" for name in names)]


def lines(first: RunReport, again: Mapping[str, str]) -> list[str]:
    """What a tier ends with, where tests were repeated: ``again`` says what became of each then."""
    flaky = [name for name, became in again.items() if became == PASSED]
    failed = [name for name, became in again.items() if became != PASSED]
    told = flaky_lines([f"{name}\n{first.tests[name].told}" for name in flaky], flaky)
    return [*told, *(["", "FAILED, also when repeated once:"] if failed else []), *(f"  {name}" for name in failed)]


def main(arguments: Sequence[str]) -> int:
    """Exit code of pytest's run with these arguments, 0 where all that failed passed when it was repeated."""
    recorder = Recorder()
    code = int(pytest.main(list(arguments), plugins=[recorder]))
    failed = worth_repeating(recorder.report, code)
    if not failed:
        return code
    print(f"\nRepeating {len(failed)} that failed", flush=True)
    again = _repeated(failed, recorder.options)
    print("\n".join(lines(recorder.report, again)), flush=True)
    return 0 if set(again.values()) == {PASSED} else code


def _repeated(names: Sequence[str], options: Sequence[str]) -> dict[str, str]:
    """What became of each. Ctrl-C reaches pytest as well, which then takes down what it started."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pytest", "-p", run_report.__name__, *options, *names]
        with subprocess.Popen(command, env={**os.environ, run_report.VARIABLE: str(report)}) as run:
            code = run.wait()
        found = run_report.read(report)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not found.complete:
        return dict.fromkeys(names, FAILED)
    return {name: found.tests[name].became if name in found.tests else FAILED for name in names}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Failing tests of the tiers on real time are repeated once, and what passes then is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import repetition
from tests.run_report import FAILED, PASSED, SKIPPED, Case, RunReport

ROOT = Path(__file__).parents[3]

FAILS_ONCE = """
import pathlib
import pytest

FLAG = pathlib.Path("was-here")

def test_sound(): pass

@pytest.fixture(scope="module")
def server():
    return object()

class TestIt:
    def test_failing_once(self, server):
        print("said at first")
        assert FLAG.exists() or FLAG.touch()

    def test_%s(self, server):
        assert %s
"""
UNREADY = """
import pathlib
import pytest

FLAG = pathlib.Path("was-here")

@pytest.fixture(scope="module")
def server():
    if not FLAG.exists():
        FLAG.touch()
        raise TimeoutError("not ready")

@pytest.mark.parametrize("number", range(9))
def test_served(server, number): pass
"""


def failing(*names, cause=None):
    return {name: Case(FAILED, told=f"E  {name}", cause=cause or name) for name in names}


def played(folder, text, *arguments):
    """The tier that the file makes, as a program."""
    (folder / "test_it.py").write_text(text)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", "tests.repetition", "test_it.py", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )


def test_failures_of_a_whole_run_are_worth_it():
    found = RunReport({"a": Case(PASSED), "b": Case(SKIPPED), **failing("c")})
    assert repetition.worth_repeating(found, pytest.ExitCode.TESTS_FAILED) == ["c"]


@pytest.mark.parametrize(
    "code", [pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR, -11]
)
def test_a_run_that_ended_otherwise_is_not(code):
    assert not repetition.worth_repeating(RunReport(failing("a")), code)


def test_a_run_that_was_cut_short_is_not():
    assert not repetition.worth_repeating(RunReport(failing("a"), complete=False), pytest.ExitCode.TESTS_FAILED)


def test_many_failures_are_not_but_those_of_one_cause_are():
    names = [f"t{number}" for number in range(repetition.MOST_REPEATED + 1)]
    assert not repetition.worth_repeating(RunReport(failing(*names)), pytest.ExitCode.TESTS_FAILED)
    found = RunReport(failing(*names, cause="TimeoutError: not ready"))
    assert repetition.worth_repeating(found, pytest.ExitCode.TESTS_FAILED) == names


def test_what_passes_is_told_with_what_it_said_and_what_fails_again_too():
    told = repetition.lines(RunReport(failing("a", "b", "c")), {"a": PASSED, "b": FAILED, "c": SKIPPED})
    assert told == [
        *("", "a", "E  a"),
        *("", repetition.HEADING, "  a"),
        *("", "FAILED, also when repeated once:", "  b", "  c"),
    ]


def test_a_test_that_fails_once_does_not_fail_its_tier(tmp_path):
    done = played(tmp_path, FAILS_ONCE % ("well", True))
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, end = done.stdout.partition("Repeating 1 that failed")
    assert end.index("said at first") < end.index(f"{repetition.HEADING}\n  test_it.py::TestIt::test_failing_once\n")


def test_a_test_that_fails_twice_fails_its_tier(tmp_path):
    done = played(tmp_path, FAILS_ONCE % ("ill", False))
    assert done.returncode == 1
    assert f"{repetition.HEADING}\n  test_it.py::TestIt::test_failing_once\n" in done.stdout
    assert "FAILED, also when repeated once:\n  test_it.py::TestIt::test_ill\n" in done.stdout


def test_a_fixture_is_made_anew_and_its_tests_fail_as_one(tmp_path):
    done = played(tmp_path, UNREADY)
    assert (done.returncode, "Repeating 9 that failed" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        ("def test_it(): pass", (), 0),
        ("import nothing_of_that_name", (), 2),
        ("import nothing_of_that_name", ("--continue-on-collection-errors",), 1),
        (FAILS_ONCE % ("ill", False), ("-x",), 1),
        ("def test_it(): raise KeyboardInterrupt", (), 2),
        ("import os\ndef test_it(): os.abort()", (), -6),
    ],
    ids=["passes", "cannot-be-collected", "is-not-collected", "stopped", "interrupted", "crashes"],
)
def test_nothing_else_is_repeated(tmp_path, text, arguments, code):
    done = played(tmp_path, text, *arguments)
    assert (done.returncode, "Repeating" in done.stdout) == (code, False)


def test_a_test_is_repeated_with_the_options_that_it_failed_with(tmp_path):
    warns = "def test_it(): open(__file__)  # never closed"
    ended = played(
        tmp_path, warns, "-W", "error::ResourceWarning", "-W", "error::pytest.PytestUnraisableExceptionWarning"
    )
    assert (ended.returncode, "FAILED, also when repeated once:" in ended.stdout) == (1, True)

"""What the table says of the suites that ran, and of tests that passed only when repeated."""

import sys

import pytest

from tests.realcluster import measured, suite_runs, table
from tests.realcluster.measured import Ended
from tests.realcluster.suite_runs import FAILED, FLAKY, PASSED, SKIPPED, Outcome, SuiteRuns

SUITE = "integration/kueue"
FILE = f"tests/{SUITE}/test_a.py"


def reported(*cases):
    """What pytest writes: name and child element of each test."""
    rows = "".join(
        f'<testcase file="{FILE}" name="{name}" time="1.5">{f"<{child}/>" if child else ""}</testcase>'
        for name, child in cases
    )
    return f"<testsuites><testsuite>{rows}</testsuite></testsuites>"


@pytest.fixture
def pytests(monkeypatch):
    """Stands in for pytest: writes the reports given, one a run, and notes what each was to run."""
    reports, asked = [], []

    def run(command, *_):
        asked.append([part for part in command if part.startswith("tests/")])
        text = reports.pop(0)
        path = next(part for part in command if part.startswith("--junitxml=")).partition("=")[2]
        with open(path, "w") as file:
            file.write(text)
        return Ended(int("failure" in text or "error" in text), "printed", 2.5)

    monkeypatch.setattr(suite_runs.measured, "run", run)
    return reports, asked


def outcome(folder):
    runs = SuiteRuns({"embedded": [SUITE]}, folder)
    try:
        return runs.outcome(SUITE, "embedded")
    finally:
        runs.close()


def test_a_green_suite_is_not_repeated(pytests, tmp_path):
    reports, asked = pytests
    reports.append(reported(("one", ""), ("two", "skipped")))
    found = outcome(tmp_path)
    assert found.tests == {f"{FILE}::one": PASSED, f"{FILE}::two": SKIPPED}
    assert (found.ok, found.cell(), len(asked)) == (True, "1 passed, 1 skipped in 3 s", 1)


def test_what_passes_when_repeated_is_flaky_and_told(pytests, tmp_path):
    reports, asked = pytests
    reports += [reported(("one", ""), ("two", "failure")), reported(("two", ""))]
    found = outcome(tmp_path)
    assert asked[1] == [f"{FILE}::two"]
    assert found.having(FLAKY) == [f"{FILE}::two"]
    assert (found.ok, found.cell()) == (True, "1 passed, 1 flaky in 3 s")


def test_what_fails_twice_has_failed(pytests, tmp_path):
    reports, asked = pytests
    reports += [reported(("one", "error")), reported(("one", "failure"))]
    found = outcome(tmp_path)
    assert (found.ok, found.having(FAILED), len(asked)) == (False, [f"{FILE}::one"], 2)


def test_many_failures_have_a_reason_and_are_not_repeated(pytests, tmp_path):
    reports, asked = pytests
    reports.append(reported(*[(f"t{number}", "failure") for number in range(suite_runs.MOST_REPEATED + 1)]))
    assert not outcome(tmp_path).ok
    assert len(asked) == 1


def test_a_teardown_that_fails_counts_against_a_test_that_passed(pytests, tmp_path):
    reports, _ = pytests
    reports += [reported(("one", ""), ("one", "error"))] * 2
    assert outcome(tmp_path).having(FAILED) == [f"{FILE}::one"]


def test_no_test_at_all_is_no_success():
    assert (Outcome().ok, Outcome().cell()) == (False, "did not run")


def test_runs_tell_their_cpu_seconds_with_repetitions(pytests, tmp_path):
    reports, _ = pytests
    reports += [reported(("one", "failure")), reported(("one", ""))]
    runs = SuiteRuns({"embedded": [SUITE]}, tmp_path)
    runs.outcome(SUITE, "embedded")
    runs.close()
    assert (runs.cpu_seconds("embedded"), runs.cpu_seconds("oldest")) == (5.0, 0.0)


def test_what_a_program_started_is_counted_with_it(tmp_path):
    """A second of its child's, whatever the clock says."""
    busy = "import time\nwhile time.process_time() < 1: pass"
    nested = f"import subprocess, sys; print('told'); subprocess.run([sys.executable, '-c', {busy!r}]); sys.exit(3)"
    found = measured.run([sys.executable, "-c", nested], tmp_path, {})
    assert (found.code, found.output) == (3, "told\n")
    assert found.cpu_seconds >= 1


def test_flaky_tests_stand_above_the_table(monkeypatch):
    monkeypatch.setattr(table, "_cells", {})
    monkeypatch.setattr(table, "_flaky", [])
    monkeypatch.setattr(table, "_output", [])
    monkeypatch.setattr(table, "_spent", {})
    assert table.lines() == []
    table.put(SUITE, "oldest", "1 passed")
    table.flaky("oldest", f"{FILE}::two", "E  assert 0")
    lines = table.lines()
    assert lines.index("E  assert 0") < lines.index(f"  oldest: {FILE}::two") < len(lines) - 1
    row = lines.index(next(line for line in lines if line.startswith("suite")))
    assert lines[row].split() == ["suite", "embedded", "oldest", "1.36.3"]
    assert lines[row + 1].split() == [SUITE, "-", "1", "passed", "-"]
    table.spent("oldest", 12.4)
    assert table.lines()[row + 2].split() == ["CPU", "seconds", "-", "12", "-"]

"""What the table says of the suites that ran, and of tests that passed only when repeated."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests import run_report
from tests.realcluster import measured, suite_runs, table
from tests.realcluster.measured import Ended
from tests.realcluster.suite_runs import Outcome, SuiteRuns
from tests.run_report import FAILED, FLAKY, PASSED, SKIPPED, Case, RunReport

SUITE = "integration/kueue"
FILE = f"tests/{SUITE}/test_a.py"


def reported(*cases):
    """What the run of pytest reports: name of each test and what became of it."""
    return RunReport({f"{FILE}::{name}": Case(became, seconds=1.5) for name, became in cases})


@pytest.fixture
def pytests(monkeypatch):
    """Stands in for pytest: gives the reports, one a run, and notes what each was to run."""
    reports, asked = [], []

    def run(command, folder, environment):
        asked.append([part for part in command if part.startswith("tests/")])
        found = reports.pop(0)
        Path(environment[run_report.VARIABLE]).write_text(json.dumps(asdict(found)))
        return Ended(int(bool(found.having(FAILED))), "printed", 2.5)

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
    reports.append(reported(("one", PASSED), ("two", SKIPPED)))
    found = outcome(tmp_path)
    assert found.tests == {f"{FILE}::one": PASSED, f"{FILE}::two": SKIPPED}
    assert (found.ok, found.cell(), len(asked)) == (True, "1 passed, 1 skipped in 3 s", 1)


def test_what_passes_when_repeated_is_flaky_and_told(pytests, tmp_path):
    reports, asked = pytests
    reports += [reported(("one", PASSED), ("two", FAILED)), reported(("two", PASSED))]
    found = outcome(tmp_path)
    assert asked[1] == [f"{FILE}::two"]
    assert found.having(FLAKY) == [f"{FILE}::two"]
    assert (found.ok, found.cell()) == (True, "1 passed, 1 flaky in 3 s")


def test_what_fails_twice_has_failed(pytests, tmp_path):
    reports, asked = pytests
    reports += [reported(("one", FAILED)), reported(("one", FAILED))]
    found = outcome(tmp_path)
    assert (found.ok, found.having(FAILED), len(asked)) == (False, [f"{FILE}::one"], 2)


def test_many_failures_have_a_reason_and_are_not_repeated(pytests, tmp_path):
    reports, asked = pytests
    reports.append(reported(*[(f"t{number}", FAILED) for number in range(suite_runs.MOST_REPEATED + 1)]))
    assert not outcome(tmp_path).ok
    assert len(asked) == 1


def test_a_test_of_a_class_is_repeated_by_its_whole_name(pytests, tmp_path):
    reports, asked = pytests
    reports += [reported(("TestHolds::one", FAILED)), reported(("TestHolds::one", PASSED))]
    assert (outcome(tmp_path).ok, asked[1]) == (True, [f"{FILE}::TestHolds::one"])


def test_a_run_that_was_cut_short_is_not_repeated(pytests, tmp_path):
    reports, asked = pytests
    reports.append(reported(("one", FAILED)))
    reports[0].complete = False
    found = outcome(tmp_path)
    assert (found.ok, found.cell(), len(asked)) == (False, "did not run", 1)


def test_no_test_at_all_is_no_success():
    assert (Outcome().ok, Outcome().cell()) == (False, "did not run")


def test_runs_tell_their_cpu_seconds_with_repetitions(pytests, tmp_path):
    reports, _ = pytests
    reports += [reported(("one", FAILED)), reported(("one", PASSED))]
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

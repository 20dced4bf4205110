"""What became of each test of a run of pytest. A plugin: ``-p tests.run_report`` writes it to the file that
FEDHUB_RUN_REPORT names, for another process to read.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

VARIABLE = "FEDHUB_RUN_REPORT"

PASSED, SKIPPED, FAILED, FLAKY = "passed", "skipped", "failed", "flaky"


@dataclass(slots=True)
class Case:
    """One test, with what was told where it failed."""

    became: str
    seconds: float = 0.0
    told: str = ""
    cause: str = ""
    """Tests that fail with the same cause, a fixture that several need, fail once."""


@dataclass(slots=True)
class RunReport:
    """By node ID. ``complete``: everything was collected, and nothing ended the run before its last test."""

    tests: dict[str, Case] = field(default_factory=dict)
    complete: bool = True

    def having(self, what: str) -> list[str]:
        return [name for name, case in self.tests.items() if case.became == what]


class Recorder:
    """Notes them as pytest reports them; a test whose teardown fails after it passed has failed."""

    def __init__(self, path: Path | None = None) -> None:
        self.report = RunReport()
        self.options: list[str] = []
        """All that pytest was given but for the names of tests."""
        self._path = path

    def pytest_configure(self, config: pytest.Config) -> None:
        named = config.option.file_or_dir
        self.options = [str(given) for given in config.invocation_params.args if given not in named]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.report.complete = self.report.complete and not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        became = FAILED if report.failed else SKIPPED if report.skipped else PASSED
        case = self.report.tests.setdefault(report.nodeid, Case(became))
        case.seconds += report.duration
        if report.skipped and case.became == PASSED:
            case.became = SKIPPED
        if report.failed and not case.told:
            case.became = FAILED
            case.told = _told(report)
            case.cause = _crash(report) if report.when == "setup" else report.nodeid

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.shouldfail or session.shouldstop:
            self.report.complete = False
        if self._path is not None:
            self._path.write_text(json.dumps(asdict(self.report)))


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get(VARIABLE):
        config.pluginmanager.register(Recorder(Path(path)))


def read(path: Path) -> RunReport:
    """What a run wrote; nothing, and not complete, where it was ended before it could."""
    if not path.exists():
        return RunReport(complete=False)
    found = json.loads(path.read_text())
    return RunReport({name: Case(**told) for name, told in found["tests"].items()}, found["complete"])


def _told(report: pytest.TestReport) -> str:
    captured = [f"--- {title} ---\n{content}" for title, content in report.sections if content]
    return "\n".join([report.longreprtext, *captured])


def _crash(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash is not None else report.longreprtext

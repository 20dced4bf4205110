"""The integration suites on each sort of cluster, several runs of pytest side by side, and beside the other tests.

Suites that lend control planes from test to test share a run, and so the planes; they wait more than they work, as do
those that start whole federations of processes. What failed is repeated once, on a machine that may have been busy:
what passes then is reported as flaky, and does not fail the tier.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests import cluster_choice

ROOT = Path(__file__).parents[2]
PATIENCE = "600"
"""Seconds for one test: real control planes start within it."""

SHARING = (
    ("integration/local",),
    ("integration/kueue",),
    ("integration/federation",),
    ("integration/agent", "integration/tunnel"),
)
"""Suites of one run, longest first."""

GARBAGE = {"GOGC": "400"}
"""Memory for time: by default a fifth of what an API server's start costs is collecting garbage."""

AT_A_TIME = 2 * (os.cpu_count() or 1)
MOST_REPEATED = 10
"""Where more fail, they do so for a reason, and a repetition only takes time."""

PASSED, SKIPPED, FAILED, FLAKY = "passed", "skipped", "failed", "flaky"


@dataclass(slots=True)
class Outcome:
    """What became of one suite on one sort: by test, and what pytest printed where something failed."""

    tests: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    output: str = ""
    broken: bool = False
    """pytest itself ended otherwise than with its tests passed or failed."""

    def having(self, what: str) -> list[str]:
        return [name for name, became in self.tests.items() if became == what]

    @property
    def ok(self) -> bool:
        return bool(self.tests) and not self.broken and not self.having(FAILED)

    def cell(self) -> str:
        """``58 passed, 1 flaky, 40 s``, with what failed before it."""
        if self.broken or not self.tests:
            return "did not run"
        counts = [(what, len(self.having(what))) for what in (FAILED, PASSED, FLAKY, SKIPPED)]
        told = [f"{count} {what}" for what, count in counts if count]
        return f"{', '.join(told)} in {self.seconds:.0f} s"


class SuiteRuns:
    """Runs that were started, ``AT_A_TIME`` of them at a time. ``wanted``: suites by sort, the slowest sort first."""

    def __init__(self, wanted: Mapping[str, Sequence[str]], folder: Path) -> None:
        self._pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="suites")
        self._runs: dict[tuple[str, str], Future[dict[str, Outcome]]] = {}
        for number, sharing in enumerate(SHARING):
            for sort, suites in wanted.items():
                if together := [suite for suite in sharing if suite in suites]:
                    run = self._pool.submit(_run, sort, together, folder / f"{sort}-{number}")
                    self._runs |= {(suite, sort): run for suite in together}

    def outcome(self, suite: str, sort: str) -> Outcome:
        """Waits for the run of that suite on that sort."""
        return self._runs[suite, sort].result()[suite]

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _run(sort: str, suites: Sequence[str], folder: Path) -> dict[str, Outcome]:
    folder.mkdir(parents=True)
    outcomes = _pytest(sort, [f"tests/{suite}" for suite in suites], suites, folder / "first.xml")
    failed = [name for outcome in outcomes.values() for name in outcome.having(FAILED)]
    if not failed or len(failed) > MOST_REPEATED or any(outcome.broken for outcome in outcomes.values()):
        return outcomes
    for suite, again in _pytest(sort, failed, suites, folder / "again.xml").items():
        for name in again.having(PASSED):
            outcomes[suite].tests[name] = FLAKY
    return outcomes


def _pytest(sort: str, what: Sequence[str], suites: Sequence[str], report: Path) -> dict[str, Outcome]:
    command = [sys.executable, "-m", "pytest", *what, "--cluster", sort, "--on-every-cluster"]
    command += ["-o", f"timeout={PATIENCE}", f"--junitxml={report}", "-o", "junit_family=xunit1"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**GARBAGE, **inherited}
    if sort != cluster_choice.EMBEDDED:
        cluster_choice.built(sort)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    broken = done.returncode not in (0, 1) or not report.exists()
    outcomes = {suite: Outcome(output=done.stdout if done.returncode else "", broken=broken) for suite in suites}
    if not broken:
        _read(report, outcomes)
    return outcomes


def _read(report: Path, outcomes: Mapping[str, Outcome]) -> None:
    """A test may be told of twice, when its teardown fails after it passed: the worse counts."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        file = case.get("file", "")
        suite = next((suite for suite in outcomes if file.startswith(f"tests/{suite}/")), None)
        if suite is None:
            continue
        outcome = outcomes[suite]
        name = f"{file}::{case.get('name')}"
        outcome.seconds += float(case.get("time", 0))
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.tests[name] = FAILED
        elif case.find("skipped") is not None:
            outcome.tests.setdefault(name, SKIPPED)
        else:
            outcome.tests.setdefault(name, PASSED)

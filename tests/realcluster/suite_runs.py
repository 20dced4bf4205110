"""The integration suites on each sort of cluster, several runs of pytest side by side, and beside the other tests.

Tests wait more than they work, so more runs than there are cores keep those busy. What failed is repeated once, on a
machine that may have been busy: what passes then is reported as flaky, and does not fail the tier.
"""

import asyncio
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hub.local.real import binaries, seed
from tests import cluster_choice, run_report
from tests.realcluster import measured, rights_log, shares
from tests.realcluster.rights_log import Asked
from tests.realcluster.shares import Share
from tests.run_report import FAILED, FLAKY, PASSED, SKIPPED
from worker_agent.api import crds

ROOT = Path(__file__).parents[2]
PATIENCE = "600"
"""Seconds for one test: real control planes start within it."""

SPARING = {"GOGC": "400", "GOMAXPROCS": "1"}
"""For programs in Go. Memory for time: by default a fifth of what an API server's start costs is collecting garbage.
And one core for each, where there are more programs than cores: a tenth of their work is waking threads on others."""

AT_A_TIME = 3 * (os.cpu_count() or 1)
MOST_REPEATED = 10
"""Where more fail, they do so for a reason, and a repetition only takes time."""


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
    """Runs that were started, ``AT_A_TIME`` of them at a time. ``wanted``: suites by sort."""

    def __init__(self, wanted: Mapping[str, Sequence[str]], folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="suites")
        real = [sort for sort in wanted if sort != cluster_choice.EMBEDDED]
        seeds = {sort: self._pool.submit(_seed, sort, folder / f"seed-{sort}") for sort in real}
        self._runs: dict[tuple[str, str], list[Future[dict[str, Outcome]]]] = defaultdict(list)
        self._spent: Counter[str] = Counter()
        for number, share in enumerate(shares.dealt(wanted)):
            run = self._pool.submit(self._run, share, folder / f"{share.sort}-{number}", seeds.get(share.sort))
            for suite in share.suites:
                self._runs[suite, share.sort].append(run)

    def outcome(self, suite: str, sort: str) -> Outcome:
        """Waits for the runs of that suite on that sort."""
        return _together([run.result()[suite] for run in self._runs[suite, sort]])

    def asked(self, sort: str, suites: Iterable[str]) -> Counter[Asked]:
        """What hub and agents asked of the clusters of that sort in these suites; empty where one of them did not run.

        Waits for them.
        """
        runs = [run for suite in suites for run in self._runs.get((suite, sort), [None])]
        if None in runs:
            return Counter()
        for run in runs:
            if run is not None:
                run.result()
        return rights_log.load(_rights(self._folder, sort))

    def cpu_seconds(self, sort: str) -> float:
        """What the runs on that sort that have ended took, with all that they started."""
        return self._spent[sort] / 1000

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _run(self, share: Share, folder: Path, seeded: Future[Path] | None) -> dict[str, Outcome]:
        folder.mkdir(parents=True)
        setting = dict(SPARING)
        if not share.apart:
            setting[rights_log.VARIABLE] = str(_rights(folder.parent, share.sort))
        if seeded and not share.apart:
            setting[seed.VARIABLE] = str(seeded.result())
        run = partial(self._pytest, share, setting)
        outcomes = run([f"tests/{file}" for file in share.files], folder / "first.json")
        failed = [name for outcome in outcomes.values() for name in outcome.having(FAILED)]
        if not failed or len(failed) > MOST_REPEATED or any(outcome.broken for outcome in outcomes.values()):
            return outcomes
        for suite, again in run(failed, folder / "again.json").items():
            for name in again.having(PASSED):
                outcomes[suite].tests[name] = FLAKY
        return outcomes

    def _pytest(
        self, share: Share, setting: Mapping[str, str], what: Sequence[str], report: Path
    ) -> dict[str, Outcome]:
        command = [sys.executable, "-m", "pytest", *what]
        command += [] if share.apart else ["--cluster", share.sort, "--on-every-cluster"]
        command += ["-o", f"timeout={PATIENCE}", "-p", run_report.__name__]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = measured.run(command, ROOT, {**setting, **inherited, run_report.VARIABLE: str(report)})
        self._spent[share.sort] += round(done.cpu_seconds * 1000)
        found = run_report.read(report)
        broken = done.code not in (0, 1) or not found.complete
        outcomes = {suite: Outcome(output=done.output if done.code else "", broken=broken) for suite in share.suites}
        for name, case in found.tests.items():
            file = name.partition("::")[0].removeprefix("tests/")
            suite = next((suite for suite in outcomes if shares.is_of(file, suite)), None)
            if suite is not None:
                outcomes[suite].seconds += case.seconds
                outcomes[suite].tests[name] = case.became
        return outcomes


def _rights(folder: Path, sort: str) -> Path:
    return folder / f"rights-{sort}"


def _together(parts: Sequence[Outcome]) -> Outcome:
    return Outcome(
        tests={name: became for part in parts for name, became in part.tests.items()},
        seconds=sum(part.seconds for part in parts),
        output="".join(part.output for part in parts),
        broken=any(part.broken for part in parts),
    )


def _seed(sort: str, folder: Path) -> Path:
    """What every control plane of this sort begins with, made once for all runs."""
    programs = binaries.in_folder(cluster_choice.built(sort))
    asyncio.run(seed.make(folder, programs, list(crds.documents())))
    return folder

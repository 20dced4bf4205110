"""Find the cases, run each, print what differs, count. Exit status 1 on a failure, 2 when there was nothing to run."""

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.conformance.case import Document, Runner, Skip
from tests.conformance.registry import runner_for

MAX_LINES = 40


@dataclass
class Tally:
    """The outcome of a run: how many passed, which failed and how, and why the rest was skipped."""

    passed: int = 0
    failed: dict[str, list[str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped.total()} skipped"


def run(paths: Iterable[Path], *, only: str = "", out: TextIO | None = None) -> Tally:
    """Run every case under these paths whose name contains ``only``; failures are printed to ``out`` as they come."""
    tally = Tally()
    for path in files(paths):
        runner = runner_for(path)
        for case in cases(path):
            label = f"{path.parent.name}/{path.stem}: {case.get('name', case.get('seed', '?'))}"
            if only in label:
                _judge(runner, case, label, tally, out)
    return tally


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """The .jsonl files among the paths and below them, sorted. Raises FileNotFoundError for a missing path."""
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        yield from sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]


def cases(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _judge(runner: Runner, case: Document, label: str, tally: Tally, out: TextIO | None) -> None:
    try:
        differences = list(runner(case))
    except Skip as skip:
        tally.skipped[str(skip)] += 1
        return
    except Exception:
        differences = traceback.format_exc(limit=-6).rstrip().splitlines()
    if not differences:
        tally.passed += 1
        return
    tally.failed[label] = differences
    if out is not None:
        _print_failure(label, differences, out)


def _print_failure(label: str, differences: Sequence[str], out: TextIO) -> None:
    print(f"FAILED {label}", file=out)
    for line in differences[:MAX_LINES]:
        print(f"    {line}", file=out)
    if len(differences) > MAX_LINES:
        print(f"    ... and {len(differences) - MAX_LINES} more", file=out)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a .jsonl file, or a folder of them")
    parser.add_argument("-k", dest="only", default="", metavar="TEXT", help="only cases whose label contains TEXT")
    options = parser.parse_args(arguments)
    try:
        tally = run(options.paths, only=options.only, out=sys.stdout)
    except FileNotFoundError as missing:
        print(missing, file=sys.stderr)
        return 2
    for reason, count in tally.skipped.most_common():
        print(f"skipped {count}: {reason}")
    print(tally)
    return 1 if tally.failed else 0

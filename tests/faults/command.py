"""Histories of a federation under faults: ``python -m tests.faults [--histories 10000] [--first 0] [--processes 2]``.

Each history is drawn from its seed, runs in memory on virtual time, and is held against the model; ``--seed N`` runs
one and shows its script, after those before it in its chain where it is a small one. One in a hundred is large;
``--size`` makes all of them small or large. ``--http`` and ``--real`` run scripts in real time on API servers of their
own, each program behind a proxy that misbehaves. Prints a line per violation, figures, and JSON on the last line, of
what ran until then also when it is interrupted, told to end, or over ``--seconds``; the exit code is 1 on violations, 2
when cut short without.
"""

import argparse
import json
import logging
import math
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from tests import cluster_choice
from tests.faults import forked, served, sizes
from tests.faults.history import Outcome
from tests.faults.sizes import Size

HELD = ("jobs", "workers", "faults", "faulty_requests", "restarts")


@dataclass
class Tally:
    """What was seen of the histories asked for."""

    asked: int
    first: int
    began: float
    run: int = 0
    completed: int = 0
    broken: list[int] = field(default_factory=list)
    held: dict[str, Counter[int]] = field(default_factory=lambda: {what: Counter() for what in HELD})

    def count(self, outcome: Outcome) -> None:
        self.run += 1
        self.completed += outcome.completed
        for what, counted in outcome.counts.items():
            self.held[what][counted] += 1
        if outcome.violations:
            self.broken.append(outcome.script.seed)
            print(outcome, flush=True)

    def figures(self) -> dict[str, Any]:
        cpu = _cpu_seconds()
        return {
            "histories": self.run,
            "asked": self.asked,
            "first_seed": self.first,
            "violations": len(self.broken),
            "seeds": self.broken,
            "jobs_completed": self.completed,
            "seconds": round(time.monotonic() - self.began, 1),
            "cpu_seconds": round(cpu, 1),
            "histories_per_cpu_second": round(self.run / cpu, 2) if cpu else None,
            "compiled_modules": _compiled_modules(),
            **{f"{what}_per_history": _spread(counted) for what, counted in self.held.items()},
        }

    def tell(self) -> None:
        figures = self.figures()
        short = "" if self.run == self.asked else f" of {self.asked}"
        rate = figures["histories_per_cpu_second"]
        print(f"{self.run}{short} histories, {len(self.broken)} with violations, {rate} per CPU s")
        print(json.dumps(figures), flush=True)

    @property
    def exit_code(self) -> int:
        if self.broken:
            return 1
        return 0 if self.run == self.asked else 2


def _cpu_seconds() -> float:
    """Of this process, which has imported everything, and of all that it has forked and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _compiled_modules() -> int:
    """How many of the program's own modules are compiled ones (``scripts/compile``) in this run."""
    ours = [module for name, module in sys.modules.items() if name.startswith(("hub.", "worker_agent."))]
    return sum((getattr(module, "__file__", None) or "").endswith(".so") for module in ours)


def _spread(counted: Counter[int]) -> dict[str, float]:
    """Smallest, median and largest count, and the share of histories that had none."""
    every = sorted(counted.elements())
    if not every:
        return {}
    return {
        "min": every[0],
        "median": every[len(every) // 2],
        "max": every[-1],
        "none": round(counted[0] / len(every), 3),
    }


class Limit:
    """``reached`` from the first SIGINT or SIGTERM on, and after ``seconds`` (0: never). The history under way is
    brought to its end; a second signal ends the program at once."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds if seconds else math.inf
        self._told = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._tell)

    @property
    def reached(self) -> bool:
        return self._told or time.monotonic() >= self._end

    def _tell(self, number: int, frame: FrameType | None) -> None:
        self._told = True
        signal.signal(number, signal.SIG_DFL)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description="Histories of a federation under faults, each drawn from its seed and held against the model.",
        epilog="scripts/test faults --compiled, before all options, runs them on compiled modules.",
    )
    parser.add_argument("--histories", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one history, with its script")
    parser.add_argument(
        "--size", type=Size, choices=list(Size), help=f"default: {Size.MIXED}; with --http and --real {Size.LARGE}"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many at a time (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.0, help="end after so long; 0: when all have run")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--http", action="store_true", help="in real time, on embedded API servers over HTTP")
    where.add_argument("--real", action="store_true", help="in real time, on real control planes")
    asked = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    asked.size = asked.size or (Size.LARGE if asked.http or asked.real else Size.MIXED)
    if asked.seed is not None and not (asked.http or asked.real):
        (outcome,) = forked.outcomes([asked.seed], 1, asked.size)
        print(outcome)
        print(f"{len(outcome.violations)} violations; {outcome.seconds:.0f} s of virtual time; {outcome.counts}")
        return 1 if outcome.violations else 0
    first, count = (asked.first, asked.histories) if asked.seed is None else (asked.seed, 1)
    tally = Tally(count, first, time.monotonic())
    limit = Limit(asked.seconds)
    seeds = range(first, first + count)
    sort = cluster_choice.NEWEST if asked.real else cluster_choice.EMBEDDED if asked.http else ""
    played = _served(seeds, sort, asked) if sort else forked.outcomes(seeds, asked.processes, asked.size)
    with closing(played) as found:
        for outcome in found:
            tally.count(outcome)
            if limit.reached:
                break
    tally.tell()
    return tally.exit_code


def _served(seeds: range, sort: str, asked: argparse.Namespace) -> Generator[Outcome, None, None]:
    return served.outcomes([sizes.write(seed, asked.size) for seed in seeds], sort, asked.processes)

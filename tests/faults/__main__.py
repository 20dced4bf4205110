"""Histories of a federation under faults: ``python -m tests.faults [--histories 10000] [--first 0] [--processes 2]``.

Each history is drawn from its seed, runs in memory on virtual time, and is held against the model; ``--seed N`` runs
one and shows its script. Prints a line per violation, figures, and JSON on the last line; the exit code is 1 on
violations.
"""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.faults import history
from tests.faults.history import Outcome

CHUNK = 10


def attempt(seed: int) -> tuple[Outcome, float]:
    """The outcome of one history and the CPU seconds it took; a program that ends by itself is a violation too."""
    logging.disable(logging.CRITICAL)
    began = time.process_time()
    return history.attempt(seed), time.process_time() - began


def outcomes(seeds: range, processes: int) -> Iterator[tuple[Outcome, float]]:
    if processes <= 1:
        yield from map(attempt, seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(attempt, seeds, chunksize=CHUNK)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="histories under faults")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one history, with its script")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args(argv)
    if asked.seed is not None:
        outcome, seconds = attempt(asked.seed)
        print(outcome)
        print(f"{len(outcome.violations)} violations; {outcome.seconds:.0f} s of virtual time, {seconds:.2f} CPU s")
        return 1 if outcome.violations else 0
    began = time.monotonic()
    broken, cpu, completed = [], 0.0, 0
    for outcome, seconds in outcomes(range(asked.first, asked.first + asked.histories), asked.processes):
        cpu += seconds
        completed += outcome.completed
        if outcome.violations:
            broken.append(outcome.script.seed)
            print(outcome, flush=True)
    figures = {
        "histories": asked.histories,
        "first_seed": asked.first,
        "violations": len(broken),
        "seeds": broken,
        "jobs_completed": completed,
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(cpu, 1),
        "histories_per_cpu_second": round(asked.histories / cpu, 2) if cpu else None,
    }
    print(
        f"{asked.histories} histories, {len(broken)} with violations, {figures['histories_per_cpu_second']} per CPU s"
    )
    print(json.dumps(figures))
    return 1 if broken else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets must not differ between a history and its replay.
        again = [sys.executable, "-m", "tests.faults", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main(sys.argv[1:]))

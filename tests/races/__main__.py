"""Races of users with the machinery: ``python -m tests.races [--seeds 200] [--first 0] [--processes 2]``.

Each race is drawn from its seed, over six kinds at a time, and runs in memory on virtual time; ``--seed N`` runs one
and shows its script; ``--kinds Job,JobSet`` races these in every seed. Prints violations as they are found, a table of
kind x races x violations, and JSON on the last line; the exit code is 1 on violations.
"""

import argparse
import gc
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from tests.races import race
from tests.races.race import Outcome
from tests.races.subjects import SUBJECTS

SLOW_CPU_SECONDS = 10.0
"""Most take one or two: somebody may be going round and round."""


def attempt(labels: tuple[str, ...], seed: int) -> tuple[Outcome, float]:
    """The outcome of one race and the CPU seconds it took."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    began = time.process_time()
    return race.attempt(seed, labels), time.process_time() - began


def outcomes(seeds: range, labels: tuple[str, ...], processes: int) -> Iterator[tuple[Outcome, float]]:
    if processes <= 1:
        yield from map(partial(attempt, labels), seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(partial(attempt, labels), seeds)


def table(races: Counter[str], acts: Counter[str], violations: Counter[str]) -> Iterator[str]:
    yield f"{'kind':18}{'races':>7}{'acts':>7}{'violations':>12}"
    for label in [*sorted(SUBJECTS), "cluster"]:
        yield f"{label:18}{races[label]:7}{acts[label]:7}{violations[label]:12}"


def figures(races: Counter[str], violations: Counter[str], broken: list[int], cpu: float) -> dict[str, Any]:
    return {
        "seeds": races["cluster"],
        "races": {label: races[label] for label in sorted(SUBJECTS)},
        "violations": sum(violations.values()),
        "broken_seeds": broken,
        "cpu_seconds": round(cpu, 1),
    }


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.races", description="races of users with the machinery")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one race, with its script")
    parser.add_argument("--kinds", default="", help="these kinds in every race, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args(argv)
    labels = tuple(label for label in asked.kinds.split(",") if label)
    if unknown := [label for label in labels if label not in SUBJECTS]:
        parser.error(f"--kinds: {unknown[0]!r}: must be of {', '.join(sorted(SUBJECTS))}")
    if asked.seed is not None:
        outcome, seconds = attempt(labels, asked.seed)
        print(outcome)
        print(
            f"{len(outcome.violations)} with violations; {outcome.seconds:.0f} s of virtual time, {seconds:.2f} CPU s"
        )
        return 1 if outcome.violations else 0
    races: Counter[str] = Counter()
    acts: Counter[str] = Counter()
    violations: Counter[str] = Counter()
    broken, cpu = [], 0.0
    for outcome, seconds in outcomes(range(asked.first, asked.first + asked.seeds), labels, asked.processes):
        cpu += seconds
        races.update([*outcome.script.subjects, "cluster"])
        acts.update(step.subject for step in outcome.script.steps)
        violations.update({label: len(found) for label, found in outcome.violations.items()})
        if outcome.violations:
            broken.append(outcome.script.seed)
            print(outcome, flush=True)
        if seconds > SLOW_CPU_SECONDS:
            print(f"seed {outcome.script.seed} took {seconds:.1f} CPU s", file=sys.stderr, flush=True)
    print("\n".join(table(races, acts, violations)))
    print(json.dumps(figures(races, violations, broken, cpu)))
    return 1 if broken else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets must not differ between a race and its replay.
        again = [sys.executable, "-m", "tests.races", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main(sys.argv[1:]))

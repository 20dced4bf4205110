"""Which faults of the past the histories would find today: ``python -m tests.faults.mutants [NAME ...]``.

Each is put back by taking its mend out of the running program. Small and large histories then run until one breaks a
promise; a table tells after how many, and after how many CPU seconds, and JSON on the last line says the same.
"""

import argparse
import asyncio
import json
import logging
import resource
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

from hub.controllers.orphan_collector import OrphanCollector
from hub.engine import earlier_runs, fencing, sync, sync_job, sync_winner
from tests.faults import forked
from tests.faults.sizes import Size
from worker_agent.kube.workqueue import WorkQueue

MOST: Final = {Size.SMALL: 1500, Size.LARGE: 150}
"""Histories of each size before a fault counts as not found."""


def _never(*_: Any, **__: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> list[Any]:
    return []


async def _idle(*_: Any, **__: Any) -> None:
    await asyncio.Event().wait()


def _forgets(queue: WorkQueue[Any], key: Any) -> None:
    """What is added while a key is worked on is not looked at again."""
    queue._processing.pop(key, None)
    queue._dirty.pop(key, None)


@dataclass(frozen=True)
class Mutant:
    """``parts``: an object or class, the name of one of its attributes, and what stands in its place."""

    fault: str
    parts: tuple[tuple[Any, str, Callable[..., Any]], ...]


MUTANTS: Final = {
    "lost-end": Mutant(
        "the end of a job that is gone before it was copied home is not written", ((sync_job, "end_is_lost", _never),)
    ),
    "hasty-end": Mutant(
        "a job is removed before its own word of its end was read",
        ((sync, "unseen_end", lambda group: ""), (sync_job, "lags", _never)),
    ),
    "earlier-run": Mutant(
        "the copy of an earlier run counts beside the run of today", ((earlier_runs, "is_left_over", _never),)
    ),
    "no-fence": Mutant(
        "nobody asks whether a worker out of contact may still run the job", ((fencing, "may_still_run", _never),)
    ),
    "left-out": Mutant("a cluster that left the configuration keeps the job", ((sync._Pass, "_outside", _never),)),
    "ghost-pods": Mutant(
        "pods of a lost job are told of for ever and hold the quota", ((sync_winner, "forget_pods", _nothing),)
    ),
    "no-orphans": Mutant("nobody collects what a deleted Workload left behind", ((OrphanCollector, "run", _idle),)),
    "missed-change": Mutant("a change that comes while its key is worked on is lost", ((WorkQueue, "done", _forgets),)),
}


def sought(mutant: Mutant, size: Size, first: int) -> tuple[int, float, str]:
    """After how many histories and CPU seconds it is found, and by what; 0 histories for never."""
    began = _cpu_seconds()
    with ExitStack() as stack:
        for target, name, instead in mutant.parts:
            stack.enter_context(mock.patch.object(target, name, instead))
        seeds = range(first, first + MOST[size])
        with closing(forked.outcomes(seeds, 1, size)) as played:
            for number, outcome in enumerate(played, 1):
                if outcome.violations:
                    return number, _cpu_seconds() - began, outcome.violations[0]
    return 0, _cpu_seconds() - began, ""


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.mutants", description="faults of the past")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MUTANTS))
    parser.add_argument("--first", type=int, default=500_000, help="the first seed")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    forked.compile_what_all_share()
    told: dict[str, dict[str, Any]] = {}
    for name in asked.names or MUTANTS:
        for size in MOST:
            count, seconds, what = sought(MUTANTS[name], size, asked.first)
            told.setdefault(name, {})[size.value] = {"histories": count, "cpu_seconds": round(seconds, 1)}
            found = f"after {count} histories, {seconds:.1f} CPU s: {what[:90]}" if count else f"not in {MOST[size]}"
            print(f"{name:14} {size:6} {found}", flush=True)
    print(json.dumps(told))


if __name__ == "__main__":
    main()

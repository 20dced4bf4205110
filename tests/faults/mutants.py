"""Which faults of the past the histories would find today: ``python -m tests.faults.mutants [NAME ...]``.

Each is put back by taking its mend out of the running program. Small and large histories then run until one breaks a
promise, or the seconds for a fault are over; a table tells after how many, and JSON on the last line says the same.
The exit code is 1 when a fault was not found.
"""

import argparse
import asyncio
import json
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from unittest import mock

from hub.controllers.orphan_collector import OrphanCollector
from hub.engine import earlier_runs, fencing, group_loading, sync, sync_job, sync_winner
from tests.faults import forked
from tests.faults.sizes import Size
from worker_agent.jobs import batch_job
from worker_agent.kube.workqueue import WorkQueue

MOST: Final = 1500
"""Histories of each size at most."""
SHARES: Final = {Size.SMALL: 0.7, Size.LARGE: 1.0}
"""By which part of the time the histories of a size are over."""


def _never(*_: Any, **__: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> list[Any]:
    return []


def _remote_alone(local: Any, remote: Any) -> Any:
    return remote


def _without_clusters(*_: Any, **__: Any) -> dict[str, Any]:
    return {}


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
    # Each by itself breaks no promise: a Job here that keeps its first start takes the end of either run, and without
    # ``is_left_over`` the run of today is only interrupted once (``test_failover_cases`` says that it is not).
    "earlier-run": Mutant(
        "the copy of an earlier run counts beside the run of today, and brings a start of its own",
        ((earlier_runs, "is_left_over", _never), (batch_job, "_with_first_start", _remote_alone)),
    ),
    "no-fence": Mutant(
        "nobody asks whether a worker out of contact may still run the job", ((fencing, "may_still_run", _never),)
    ),
    # Without ``_Pass._outside`` alone a job still runs once: the fence holds the quota for as long as it may run there.
    "left-out": Mutant(
        "nobody looks at a cluster that left the configuration", ((group_loading, "_outside", _without_clusters),)
    ),
    "ghost-pods": Mutant(
        "pods of a lost job are told of for ever and hold the quota", ((sync_winner, "forget_pods", _nothing),)
    ),
    "no-orphans": Mutant("nobody collects what a deleted Workload left behind", ((OrphanCollector, "run", _idle),)),
    "missed-change": Mutant("a change that comes while its key is worked on is lost", ((WorkQueue, "done", _forgets),)),
}


@dataclass
class Search:
    """What the histories have told of a mutant so far."""

    name: str
    histories: dict[str, int] = field(default_factory=dict)
    violation: str = ""
    seconds: float = 0.0
    cut_short: bool = False
    """It was killed at its limit: with a history that does not end, this says so."""

    def __str__(self) -> str:
        played = " and ".join(f"{count} {size}" for size, count in self.histories.items()) or "no"
        how = "found" if self.violation else "NOT FOUND, cut short" if self.cut_short else "NOT FOUND"
        return f"{self.name:14} {how} after {played} histories, {self.seconds:.1f} s {self.violation[:90]}".rstrip()


def sought(name: str, first: int, seconds: float) -> Search:
    """Plays histories on a mutant in a group of processes of its own, which is killed when ``seconds`` are over: with
    a fault put back even a single history may never end."""
    here, there = os.pipe()
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        os.close(here)
        _play(MUTANTS[name], first, seconds, there)
        os._exit(0)
    os.close(there)
    with suppress(OSError):  # the child has done so
        os.setpgid(pid, pid)
    try:
        return _heard(Search(name), here, seconds)
    finally:
        os.close(here)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _play(mutant: Mutant, first: int, seconds: float, pipe: int) -> None:
    """Writes a line of JSON for each history: its size and its first violation. Ends with the first violation, or when
    the histories of each size have had their share of the time."""
    began = time.monotonic()
    with ExitStack() as stack:
        for target, attribute, instead in mutant.parts:
            stack.enter_context(mock.patch.object(target, attribute, instead))
        for size, share in SHARES.items():
            with closing(forked.outcomes(range(first, first + MOST), 1, size)) as played:
                for outcome in played:
                    violation = outcome.violations[0] if outcome.violations else ""
                    os.write(pipe, json.dumps([size.value, violation]).encode() + b"\n")
                    if violation:
                        return
                    if time.monotonic() - began > seconds * share:
                        break


def _heard(search: Search, pipe: int, seconds: float) -> Search:
    began, rest = time.monotonic(), b""
    while not search.violation:
        left = began + seconds - time.monotonic()
        ready, _, _ = select.select([pipe], [], [], max(0.0, left))
        search.seconds = time.monotonic() - began
        search.cut_short = not ready
        piece = os.read(pipe, 1 << 16) if ready else b""
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        for size, violation in map(json.loads, lines):
            search.histories[size] = search.histories.get(size, 0) + 1
            search.violation = search.violation or violation
    return search


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.mutants", description="faults of the past")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MUTANTS))
    parser.add_argument("--first", type=int, default=500_000, help="the first seed")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each fault at most")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(MUTANTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(MUTANTS)}")
    logging.disable(logging.CRITICAL)
    print("a federation comes up", flush=True)
    forked.compile_what_all_share()
    found = []
    for name in asked.names or MUTANTS:
        found.append(sought(name, asked.first, asked.seconds))
        print(found[-1], flush=True)
    print(json.dumps([asdict(search) for search in found]))
    return 0 if all(search.violation for search in found) else 1


if __name__ == "__main__":
    sys.exit(main())

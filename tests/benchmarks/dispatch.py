"""One manager, three workers: how fast Jobs get to run, and what that costs; ours, Kueue's dispatchers, real Kueue.

    python -m tests.benchmarks.dispatch [--jobs 300,1000] [--contenders capacity-aware,...]
                                        [--peer JOBS] [--output json]
    python -m tests.benchmarks.dispatch --embedded --workers 3,10,20 [--jobs 300]

On real control planes (built the first time) with audit logs: equal one-pod Jobs are created at once, run on
simulated nodes, are ended, deleted, and nothing is left. Writes are counted from the audit logs, those of hub and
agents only; CPU seconds are the operating system's. ``--peer`` builds real Kueue 0.17.0 from the Go module proxy and
runs it on the same control planes after ours, its clients limited as shipped, and prints the ratios: its rate does not
depend on the number of Jobs, so that 60 tell it. ``--embedded`` takes embedded API servers in place of real ones and
compares the rate of many workers with that of few; the CPU share of idle agents is measured before the load.

Exit code 1 where a Job failed or a target was missed. With ``--output json`` the last line of standard output is JSON.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests import cluster_choice
from tests.benchmarks import dispatch_scale, dispatch_table
from tests.benchmarks.dispatch_rig import CAPACITY_AWARE, CONTENDERS, LIKE_PEER, PEER, Rig
from tests.benchmarks.dispatch_run import Contender, Figures, Run
from tests.benchmarks.federation_load import Load, watching
from tests.realcluster import kueue
from tests.realcluster.kueue import Kueue

WARM_UP_JOBS = 6


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def compare(
    rig: Rig, plan: list[tuple[Contender, list[int]]], peer: Kueue | None, seconds: float
) -> list[Figures]:
    """The figures of every contender for each of its numbers of Jobs, in order."""
    rows: list[Figures] = []
    await rig.start(say)
    for position, (contender, loads) in enumerate(plan):
        if position or contender != CAPACITY_AWARE:  # the rig starts with that one
            await rig.use(contender, peer, say)
        run = Run(rig.federation, contender, seconds)
        async with watching(rig.federation) as seen:
            for jobs in (WARM_UP_JOBS, *loads):
                prefix = f"{contender.key}-{jobs}-{len(rows)}"
                figures = await run.measure(seen, Load(jobs, prefix=prefix, webhooks=not contender.is_peer))
                if jobs != WARM_UP_JOBS:
                    say(f"{contender.name}, {jobs} Jobs: {figures['jobs_per_second']} jobs/s")
                    rows.append(figures)
    return rows


def real(arguments: argparse.Namespace, console: Console) -> Figures:
    """The comparison on real control planes."""
    os.environ.setdefault(cluster_choice.ASSETS, str(cluster_choice.built(cluster_choice.NEWEST)))
    peer = built_peer() if arguments.peer else None
    plan = [(contender, arguments.jobs) for contender in CONTENDERS if contender.name in arguments.contenders]
    if peer is not None:
        plan = [
            (c, sorted({*loads, arguments.peer}) if c in (CAPACITY_AWARE, LIKE_PEER) else loads) for c, loads in plan
        ]
        plan.append((PEER, [arguments.peer]))
    with tempfile.TemporaryDirectory(prefix="fedhub-dispatch-") as scratch:
        rig = Rig(Path(scratch), workers=3, room_for_jobs=max(load for _, loads in plan for load in loads), real=True)
        try:
            rows = asyncio.run(compare(rig, plan, peer, arguments.timeout))
        finally:
            rig.stop()
    verdicts = dispatch_table.judged(rows, (CAPACITY_AWARE.name, LIKE_PEER.name), PEER.name)
    dispatch_table.show(rows, verdicts, console)
    return {"rows": rows, "targets": verdicts, "peer": peer is not None}


def built_peer() -> Kueue | None:
    """Real Kueue; says aloud why there is none."""
    reason = kueue.may_run()
    if not reason:
        try:
            return kueue.build()
        except kueue.KueueError as error:
            reason = str(error)
    say(f"NO PEER in this run: {reason}")
    return None


def numbers(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text}: write whole numbers from 1, with commas between them")
    return found


def contenders(text: str) -> list[str]:
    known = [contender.name for contender in CONTENDERS]
    found = text.split(",")
    if unknown := set(found) - set(known):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: must be among {', '.join(known)}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=numbers, default=[300], help="how many Jobs; more loads with commas between")
    parser.add_argument("--contenders", type=contenders, default=[contender.name for contender in CONTENDERS])
    parser.add_argument("--peer", type=int, nargs="?", const=100, default=0, help="real Kueue too, over that many Jobs")
    parser.add_argument("--embedded", action="store_true", help="scaling over workers, on embedded API servers")
    parser.add_argument("--workers", type=numbers, default=[3, 10, 20], help="with --embedded: how many workers")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for each phase of a run")
    parser.add_argument("--output", choices=("table", "json"), default="table")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped then too
    console = Console(stderr=arguments.output == "json", width=None if sys.stdout.isatty() else 140)
    if arguments.embedded:
        result = dispatch_scale.run(arguments.workers, arguments.jobs[0], arguments.timeout, console, say)
    else:
        result = real(arguments, console)
    if arguments.output == "json":
        print(json.dumps(result))
    good = all(verdict["met"] for verdict in result["targets"]) and not any(row["failed"] for row in result["rows"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

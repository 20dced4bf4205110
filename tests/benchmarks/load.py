"""Load on one cluster: many Jobs at once, then many Workloads; our agent alone, and beside it real Kueue.

    python -m tests.benchmarks.load [--jobs 500] [--workloads 5000] [--peer] [--output json]

On one real control plane (built the first time) with an audit log. First equal one-pod Jobs are created at once, run on
simulated nodes, are ended and deleted; then as many Workloads without a job are created and admitted. Writes count up
to each Job's start, those of the agent only, from the audit log; CPU seconds and memory are the operating system's; the
time of an admission attempt is the agent's own histogram. ``--peer`` runs real Kueue 0.17.0 on the same control plane
after ours, its clients limited as shipped, and prints the ratios. Everybody runs as installed: with all webhooks, and
the integrations of the configuration that either is published with (the same ones). Jobs are deleted when everybody has
told of their end: one who is slow would write less otherwise. Workloads without a job never have pods, so that our
agent is measured with them in its default setting alone; those of whoever comes last stay.

5,000 Workloads and the peer take a quarter of an hour on two quiet cores, most of it the peer's: its clients make 50
requests a second. How far each phase is is shown.

Exit code 1 where a Job failed or a target was missed. With ``--output json`` the last line of standard output is JSON.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[2]))

from hub.local.federation import connect
from tests import cluster_choice
from tests.benchmarks import load_table, workload_load
from tests.benchmarks.dispatch import WARM_UP_JOBS, built_peer, say
from tests.benchmarks.dispatch_rig import CAPACITY_AWARE, LIKE_PEER, PEER, Rig
from tests.benchmarks.dispatch_run import Contender, Figures, Run
from tests.benchmarks.federation_load import Load, Watching, watching
from tests.benchmarks.load_progress import LoadProgress
from tests.realcluster import kueue_webhooks
from tests.realcluster.kueue import Kueue
from worker_agent.kube.client import Client

PUBLISHED = Path(__file__).parents[2] / "manifests" / "base" / "agent" / "config.yaml"
INTEGRATIONS = {"integrations": {"frameworks": yaml.safe_load(PUBLISHED.read_text())["integrations"]["frameworks"]}}
"""As installed, pods are queued too: most webhooks are called for the sake of those."""
AGENT = Contender("our agent", "", CAPACITY_AWARE.programs, INTEGRATIONS)
AGENT_LIKE_PEER = Contender("our agent, like the peer", "", LIKE_PEER.programs, INTEGRATIONS | dict(LIKE_PEER.settings))
"""Without waitForPodsReady, which Kueue 0.17.0 has switched off unless told otherwise."""
KUEUE = Contender(PEER.name, PEER.dispatcher, PEER.programs, INTEGRATIONS)


async def ready_at_once() -> None:
    """For a load that nobody tells of."""


@dataclass(frozen=True, slots=True)
class Lasting(Load):
    """Its Jobs stay until everybody has told of their end: whoever is too slow for that is not the cheaper for it."""

    told: Callable[[], Awaitable[None]] = ready_at_once

    async def delete(self, client: Client) -> None:
        await self.told()
        await Load.delete(self, client)


async def compare(rig: Rig, arguments: argparse.Namespace, peer: Kueue | None, progress: LoadProgress) -> list[Figures]:
    """The figures of our agent, in both settings, and of the peer."""
    rows: list[Figures] = []
    await rig.start(say)
    for contender in (AGENT, AGENT_LIKE_PEER, *((KUEUE,) if peer else ())):
        await rig.use(contender, peer, say)
        if peer and contender.is_peer:
            await _register_webhooks(rig, peer)
        run = Run(rig.federation, contender, arguments.timeout)
        async with watching(rig.federation) as seen:
            for jobs in (WARM_UP_JOBS, arguments.jobs):
                prefix = f"{contender.key}-{jobs}-{len(rows)}"
                attempts = await workload_load.attempts(rig.federation, contender)
                load = Lasting(jobs, prefix=prefix, dispatched=False, told=partial(run.quiet, prefix))
                async with progress.following(*_jobs_running(contender, load, seen)):
                    figures = await run.measure(seen, load)
            (client,) = seen.clients.values()
            count = 0 if contender is AGENT_LIKE_PEER else arguments.workloads
            figures |= await _workloads(run, client, count, progress)
        taken = (await workload_load.attempts(rig.federation, contender)).since(attempts)
        figures["admission_attempt_p99_seconds_at_most"] = taken.quantile(0.99)
        say(f"{contender.name}: {figures['jobs_per_second']} jobs/s")
        rows.append(figures)
    return rows


async def _register_webhooks(rig: Rig, peer: Kueue) -> None:
    layout = rig.federation.layout
    for name, cluster in rig.roles.items():
        async with connect(layout, cluster.name) as client:
            await kueue_webhooks.register(peer, client, name, layout)


def _jobs_running(contender: Contender, load: Load, seen: Watching) -> tuple[str, int, Callable[[], int]]:
    """What is shown of the Jobs: how many of them run, or have run."""

    def running() -> int:
        return sum(name.startswith(load.prefix) for name in seen.workers.running)

    return f"{contender.name}: Jobs running", load.jobs, running


async def _workloads(run: Run, client: Client, count: int, progress: LoadProgress) -> Figures:
    """What ``count`` Workloads at once come to, and the most memory a controller has held by then."""
    clear = not run.contender.is_peer  # nobody comes after the peer
    found = await workload_load.measure(run, client, count, progress, clear=clear) if count else {}
    return {"workloads": found, "controller_peak_mib": workload_load.peak_mib(run.federation)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500, help="how many Jobs at once")
    parser.add_argument(
        "--workloads", type=int, default=5000, help="how many Workloads at once, after the Jobs; 0: none"
    )
    parser.add_argument("--peer", action="store_true", help="real Kueue too")
    parser.add_argument(
        "--timeout", type=float, default=900.0, help="seconds for each phase of the Jobs; between two Workloads at most"
    )
    parser.add_argument("--output", choices=("table", "json"), default="table")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped then too
    console = Console(stderr=arguments.output == "json", width=None if sys.stdout.isatty() else 140)
    os.environ.setdefault(cluster_choice.ASSETS, str(cluster_choice.built(cluster_choice.NEWEST)))
    peer = built_peer() if arguments.peer else None
    with tempfile.TemporaryDirectory(prefix="fedhub-load-") as scratch:
        rig = Rig.alone(Path(scratch), arguments.jobs, arguments.workloads)
        try:
            with LoadProgress(Console(stderr=True), say) as progress:
                rows = asyncio.run(compare(rig, arguments, peer, progress))
        finally:
            rig.stop()
    verdicts = load_table.judged(rows, PEER.name)
    load_table.show(rows, verdicts, console)
    if arguments.output == "json":
        print(json.dumps({"rows": rows, "targets": verdicts, "peer": peer is not None}))
    good = all(verdict["met"] for verdict in verdicts) and not any(row["failed"] for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

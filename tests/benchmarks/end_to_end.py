"""From creating a Job on the manager to its pods running on a worker: rate, latency, writes, CPU and memory.

    .venv/bin/python tests/benchmarks/end_to_end.py [--real] [--jobs 300] [--rate 0] [--seconds 1]

Starts the local federation (one manager, three workers), submits equal one-pod Jobs at once (or ``--rate`` a second),
waits until all have finished, and prints a table and, on the last line, JSON. Writes come from the API servers' own
counters, by user agent; CPU seconds and peak memory from the operating system, per process, while the jobs ran.

With ``--real`` the clusters are real control planes (built the first time): Jobs are run by the real job controller,
writes are counted from the audit logs, by who made them, and CPU seconds are told for each component.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from hub.local import spec
from hub.local.federation import Federation, connect
from hub.local.layout import Layout
from tests import cluster_choice
from tests.benchmarks import audit_log, federation_usage
from tests.benchmarks.federation_load import Load, watching
from tests.benchmarks.federation_writes import AuditLogs
from worker_agent.kube.transport import Request

WRITE = re.compile(r'^apiserver_writes_total\{user_agent="([^"]*)".*?,resource="([^"]*)".*\} (\d+)$', re.MULTILINE)
Counts = dict[str, Counter[tuple[str, str]]]
"""Per cluster: write requests by (user agent, resource)."""


async def writes(federation: Federation) -> Counts:
    """So far, by the embedded servers' counters; real ones have none."""
    found: Counts = {}
    if federation.real:
        return found
    for cluster in federation.spec.clusters:
        async with connect(federation.layout, cluster.name) as client:
            text = (await client.raw(Request("GET", "/metrics"))).decode()
        found[cluster.name] = Counter()
        for agent, resource, count in WRITE.findall(text):
            found[cluster.name][agent, resource] += int(count)
    return found


async def run(federation: Federation, arguments: argparse.Namespace) -> dict[str, Any]:
    await federation.up(lambda text: print(text, file=sys.stderr))
    load = Load(arguments.jobs, rate=arguments.rate, seconds=arguments.seconds)
    async with watching(federation) as seen:
        logs = AuditLogs(federation) if federation.real else None
        writes_before, usage_before = await writes(federation), federation_usage.read(federation)
        start = time.monotonic()
        sent = await load.submit(seen.clients[federation.spec.clusters[0].name])
        submitted = time.monotonic() - start
        async with asyncio.timeout(arguments.timeout):
            await seen.news.until(lambda: len(seen.manager.finished) == arguments.jobs)
        elapsed = time.monotonic() - start
        async with asyncio.timeout(arguments.timeout):
            await seen.workers_empty()  # clean-up writes are counted too
        writes_after, usage_after = await writes(federation), federation_usage.read(federation)
        logged = logs.read() if logs else {}
    watcher, spent = seen.manager, federation_usage.spent(usage_before, usage_after)
    waits = sorted(watcher.running[name] - sent[name] for name in sent)
    return {
        "jobs": arguments.jobs,
        "failed": len(watcher.failed),
        "submit_seconds": round(submitted, 2),
        "seconds_to_all_finished": round(elapsed, 2),
        "jobs_per_second_to_running": round(arguments.jobs / (max(watcher.running.values()) - start), 2),
        "create_to_running_seconds": {
            "p50": round(statistics.median(waits), 3),
            "p99": round(waits[min(len(waits) - 1, int(len(waits) * 0.99))], 3),
        },
        "clusters": "real" if federation.real else "embedded",
        "writes_per_job": {
            cluster: by_agent(made, arguments.jobs) for cluster, made in _made(writes_before, writes_after, logged)
        },
        "writes_per_job_of_each": {cluster: per_job(found.made, arguments.jobs) for cluster, found in logged.items()},
        "refused_per_job": {cluster: per_job(found.refused, arguments.jobs) for cluster, found in logged.items()},
        "api_server_cpu_seconds_per_job": _api_servers(federation, spent, arguments.jobs),
        "processes": {
            name: {
                "cpu_seconds": round(spent[name], 2),
                "peak_mebibytes": round(used.peak_bytes / 2**20),
            }
            for name, used in usage_after.items()
        },
    }


def _made(
    before: Counts, after: Counts, logged: dict[str, audit_log.Writes]
) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    for cluster, found in logged.items():
        yield cluster, found.made
    for cluster, counts in after.items():
        yield cluster, counts - before[cluster]


def _api_servers(federation: Federation, spent: dict[str, float], jobs: int) -> dict[str, float]:
    """CPU seconds for each job, by cluster, and all together."""
    found = {cluster: spent[name] / jobs for cluster, name in federation_usage.api_servers(federation).items()}
    return {cluster: round(seconds, 4) for cluster, seconds in (found | {"all": sum(found.values())}).items()}


def per_job(counts: Counter[Any], jobs: int) -> dict[str, float]:
    """``fedhub-hub jobs/status`` or ``fedhub-hub 409`` and how many there were for each job, most first."""
    return {f"{agent} {what}": round(count / jobs, 2) for (agent, what), count in counts.most_common()}


def by_agent(counts: Counter[tuple[str, str]], jobs: int) -> dict[str, float]:
    """Writes per job by user agent, events apart."""
    totals: Counter[str] = Counter()
    for (agent, resource), count in counts.items():
        totals[f"{agent} events" if resource.startswith("events") else agent] += count
    return {agent: round(count / jobs, 2) for agent, count in sorted(totals.items())}


def show(result: dict[str, Any]) -> None:
    latency = result["create_to_running_seconds"]
    print(f"{result['jobs']} jobs: {result['jobs_per_second_to_running']} jobs/s to running,", end=" ")
    print(f"p50 {latency['p50']} s, p99 {latency['p99']} s, all finished after {result['seconds_to_all_finished']} s")
    print("\nwrites per job")
    for cluster, agents in result["writes_per_job"].items():
        print(f"  {cluster:10}", ", ".join(f"{agent} {count}" for agent, count in agents.items()))
    if result["refused_per_job"]:
        print("\nrefused per job")
    for cluster, agents in result["refused_per_job"].items():
        print(f"  {cluster:10}", ", ".join(f"{agent} {count}" for agent, count in agents.items()) or "none")
    print("\nAPI server CPU seconds per job:", result["api_server_cpu_seconds_per_job"])
    print(f"\n{'process':32}{'CPU s':>8}{'peak MiB':>10}")
    for name, figures in result["processes"].items():
        print(f"{name:32}{figures['cpu_seconds']:8.1f}{figures['peak_mebibytes']:10d}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--rate", type=float, default=0.0, help="jobs a second; 0 submits all at once")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each pod runs")
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--real", action="store_true", help="on real control planes")
    arguments = parser.parse_args()
    if arguments.real:
        os.environ.setdefault(cluster_choice.ASSETS, str(cluster_choice.built(cluster_choice.NEWEST)))
    folder = spec.shipped()
    with tempfile.TemporaryDirectory(prefix="fedhub-bench-") as scratch:
        layout = Layout(Path(scratch))
        federation = Federation(spec.load(folder), folder, layout, real=arguments.real, audit=arguments.real)
        try:
            result = asyncio.run(run(federation, arguments))
        finally:
            federation.down()
    show(result)
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

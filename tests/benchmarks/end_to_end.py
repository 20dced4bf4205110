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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from hub.local import spec
from hub.local.federation import Federation, connect
from hub.local.layout import Layout
from hub.local.real import components
from hub.local.real.files import Files
from tests import cluster_choice
from tests.benchmarks import audit_log
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS
from worker_agent.kube.client import Client
from worker_agent.kube.informer import Event, Informer, document
from worker_agent.kube.transport import Request

NAMESPACE = "training"
WRITE = re.compile(r'^apiserver_writes_total\{user_agent="([^"]*)".*?,resource="([^"]*)".*\} (\d+)$', re.MULTILINE)


def job(number: int, seconds: float) -> Document:
    container = {
        "name": "c",
        "image": "registry.example/job:1",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"bench-{number:05d}",
            "namespace": NAMESPACE,
            "labels": {"kueue.x-k8s.io/queue-name": "research"},
        },
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "template": {
                "metadata": {"annotations": {"fedhub.dev/run-seconds": str(seconds)}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


@dataclass
class Watcher:
    """When each job was first seen running and finished, on this process's monotonic clock."""

    total: int
    running: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def on_job(self, event: Event[Document]) -> None:
        if event.new is None:
            return
        name, status, now = event.key.name, event.new.get("status", {}), time.monotonic()
        if status.get("active") or status.get("startTime"):
            self.running.setdefault(name, now)
        for condition in status.get("conditions", []):
            if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
                self.finished.setdefault(name, now)
                if condition["type"] == "Failed":
                    self.failed.add(name)
        if len(self.finished) == self.total:
            self.done.set()


Counts = dict[str, Counter[tuple[str, str]]]
"""Per cluster: write requests by (user agent, resource)."""


class AuditLogs:
    """The writes of real clusters since this was made, by what their API servers logged."""

    def __init__(self, federation: Federation) -> None:
        folders = {cluster.name: federation.layout.cluster(cluster.name) for cluster in federation.spec.clusters}
        self._logs = {name: Files(folder).audit_log for name, folder in folders.items()}
        self._starts = {name: log.stat().st_size for name, log in self._logs.items()}

    def read(self) -> dict[str, audit_log.Writes]:
        return {name: audit_log.read(log, self._starts[name]) for name, log in self._logs.items()}


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


def usage(federation: Federation) -> dict[str, tuple[float, int]]:
    """Per process: CPU seconds so far and peak resident bytes. Components of real clusters are told on their own."""
    found = {}
    for name, process in federation.running.items():
        handle = process.handle()
        if handle is None:
            raise SystemExit(f"{name} ended during the run; see {process.log}")
        found[name] = _usage(handle)
        for child in handle.children() if federation.real else ():
            found[f"{name.removeprefix('cluster-')} {Path(child.cmdline()[0]).name}"] = _usage(child)
    return found


def _usage(process: psutil.Process) -> tuple[float, int]:
    times = process.cpu_times()
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return times.user + times.system, int(peak[1]) * 1024 if peak else process.memory_info().rss


async def submit(client: Client, arguments: argparse.Namespace) -> dict[str, float]:
    """Creates every job; the time each create was sent."""
    sent: dict[str, float] = {}
    slots = asyncio.Semaphore(32)

    async def create(number: int) -> None:
        if arguments.rate:
            await asyncio.sleep(number / arguments.rate)
        async with slots:
            sent[f"bench-{number:05d}"] = time.monotonic()
            await client.create(JOBS, job(number, arguments.seconds), NAMESPACE)

    await asyncio.gather(*(create(number) for number in range(arguments.jobs)))
    return sent


async def run(federation: Federation, arguments: argparse.Namespace) -> dict[str, Any]:
    await federation.up(lambda text: print(text, file=sys.stderr))
    watcher = Watcher(arguments.jobs)
    async with connect(federation.layout, federation.spec.clusters[0].name) as client:
        informer = Informer(client, JOBS, document, namespace=NAMESPACE)
        informer.add_handler(watcher.on_job)
        watching = asyncio.create_task(informer.run())
        await informer.synced.wait()
        logs = AuditLogs(federation) if federation.real else None
        writes_before, usage_before = await writes(federation), usage(federation)
        start = time.monotonic()
        sent = await submit(client, arguments)
        submitted = time.monotonic() - start
        async with asyncio.timeout(arguments.timeout):
            await watcher.done.wait()
        elapsed = time.monotonic() - start
        await settled(federation)
        writes_after, usage_after = await writes(federation), usage(federation)
        logged = logs.read() if logs else {}
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
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
        "api_server_cpu_seconds_per_job": _api_servers(federation, usage_before, usage_after, arguments.jobs),
        "processes": {
            name: {
                "cpu_seconds": round(usage_after[name][0] - usage_before[name][0], 2),
                "peak_mebibytes": round(usage_after[name][1] / 2**20),
            }
            for name in usage_after
        },
    }


async def settled(federation: Federation) -> None:
    """Waits until no remote copies are left, so that clean-up writes are counted too."""
    for worker in federation.spec.workers:
        async with connect(federation.layout, worker.name) as client:
            gone = asyncio.Event()
            copies: Informer[Document] = Informer(client, JOBS, document, namespace=NAMESPACE)
            copies.add_handler(lambda _, copies=copies, gone=gone: gone.set() if not list(copies.values()) else None)
            watching = asyncio.create_task(copies.run())
            await copies.synced.wait()
            async with asyncio.timeout(60):
                if list(copies.values()):
                    await gone.wait()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


def _made(
    before: Counts, after: Counts, logged: dict[str, audit_log.Writes]
) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    for cluster, found in logged.items():
        yield cluster, found.made
    for cluster, counts in after.items():
        yield cluster, counts - before[cluster]


def _api_servers(
    federation: Federation, before: dict[str, tuple[float, int]], after: dict[str, tuple[float, int]], jobs: int
) -> dict[str, float]:
    """By cluster, and all together. The embedded server shares its process with the simulated nodes."""
    names = {
        cluster.name: f"{cluster.name} {components.API_SERVER}" if federation.real else f"cluster-{cluster.name}"
        for cluster in federation.spec.clusters
    }
    spent = {cluster: (after[name][0] - before[name][0]) / jobs for cluster, name in names.items()}
    return {cluster: round(seconds, 4) for cluster, seconds in (spent | {"all": sum(spent.values())}).items()}


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

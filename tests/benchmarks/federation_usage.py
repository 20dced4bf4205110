"""CPU and memory of a local federation's processes, as the operating system tells them."""

import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from hub.local import programs
from hub.local.federation import Federation
from hub.local.real import components


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds so far and peak resident bytes of one process."""

    cpu_seconds: float
    peak_bytes: int


Usages = dict[str, Usage]
"""By process: ``hub``, ``agent-<worker>``, ``cluster-<cluster>``; components of real clusters are told on their own,
as ``<cluster> kube-apiserver``."""


def read(federation: Federation) -> Usages:
    """Raises SystemExit where a process has ended."""
    found = {}
    for name, process in federation.running.items():
        handle = process.handle()
        if handle is None:
            raise SystemExit(f"{name} ended during the run; see {process.log}")
        found[name] = _usage(handle)
        if federation.real and name.startswith(f"{programs.CLUSTER}-"):
            for child in handle.children():
                component = Path(child.cmdline()[0]).name
                found[f"{name.removeprefix(f'{programs.CLUSTER}-')} {component}"] = _usage(child)
    return found


def spent(before: Usages, after: Usages) -> dict[str, float]:
    """CPU seconds by process between two readings."""
    return {name: used.cpu_seconds - before[name].cpu_seconds for name, used in after.items() if name in before}


def api_servers(federation: Federation) -> dict[str, str]:
    """By cluster, the process that is its API server. The embedded one shares its process with the simulated nodes."""
    return {
        cluster.name: f"{cluster.name} {components.API_SERVER}"
        if federation.real
        else f"{programs.CLUSTER}-{cluster.name}"
        for cluster in federation.spec.clusters
    }


def controllers(federation: Federation) -> dict[str, str]:
    """The hub and the agents, by process."""
    return {name: name for name in federation.running if not name.startswith(f"{programs.CLUSTER}-")}


def _usage(process: psutil.Process) -> Usage:
    times = process.cpu_times()
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return Usage(times.user + times.system, int(peak[1]) * 1024 if peak else process.memory_info().rss)

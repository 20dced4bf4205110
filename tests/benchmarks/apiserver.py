"""The embedded API server under load, as users run it: a process of its own, HTTPS, tokens; prints JSON.

    python -m tests.benchmarks.apiserver [writes] [reads] [watches] [memory] [--short] [--memory-only-store]

``writes``   20 clients; a job's life in five writes (Job, Workload, admission, start, status), and single kinds
``reads``    20 clients; single objects, and pages of 50
``watches``  100 watches on Workloads while 10,000 are written: seconds from the last write to the last delivery
``memory``   resident memory with 100,000 objects of 2.5 kB, half Jobs and half Workloads

Objects are kept in SQLite (a write is answered when it is on disk) unless ``--memory-only-store`` is given. On a
machine with two cores the load takes the second one; ``load_cpu_share`` says how much of it. On a busy machine
``per_server_cpu_s`` says more than ``per_s``: what the server does in a second of its own CPU time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from tests.benchmarks import apiserver_load as load
from tests.benchmarks.apiserver_load import Address
from tests.benchmarks.apiserver_objects import JOBS, WORKLOADS, WRITES
from tests.benchmarks.calibration import calibration
from worker_agent.api import crds

CLIENTS = 20
Figures = dict[str, Any]
TARGETS = {
    "writes_per_s": 1500,
    "reads_per_s": 3000,
    "watch_last_write_to_last_delivery_s": 1.0,
    "memory_100000_objects_mib": 1024,
}


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers, and the process it is."""

    address: Address
    process: psutil.Process

    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def rss_mib(self) -> int:
        return int(self.process.memory_info().rss // 2**20)


@contextmanager
def served(persist: bool) -> Iterator[Served]:
    """A fresh server in a folder of its own, stopped at the end."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "server.json"
        content = {
            "data_dir": str(Path(folder) / "data"),
            "persist": persist,
            "tokens": {"benchmark": ["bench", ["system:masters"]]},
            "crds": crds.documents(),
        }
        config.write_text(json.dumps(content))
        command = [sys.executable, "-m", "hub.local.apiserver.serve", str(config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError("the server ended before it answered")
                url = urlsplit(json.loads(line)["url"])
                authority = (Path(folder) / "data" / "ca.crt").read_text()
                address = Address(url.hostname or "", url.port or 0, authority)
                yield Served(address, psutil.Process(process.pid))
            finally:
                process.terminate()
                process.wait()


def measured(server: Served, target: Callable[..., None], *arguments: Any) -> Figures:
    """Run a load and say what it cost whom."""
    apart = load.run_apart(target, server.address, *arguments)
    apart.ready()
    before = server.cpu_s()
    apart.go()
    found = apart.finish()
    used = max(server.cpu_s() - before, 0.01)  # the clock ticks in hundredths
    if found["failed"]:
        raise RuntimeError(f"{len(found['failed'])} requests failed, the first: {found['failed'][0]}")
    seconds, count = found["ended"] - found["started"], found["requests"]
    return {
        "requests": count,
        "per_s": round(count / seconds),
        "per_server_cpu_s": round(count / used),
        "server_cpu_s_per_1000": round(used / count * 1000, 3),
        "server_cpu_share": round(used / seconds, 2),
        "load_cpu_share": round(found["cpu_s"] / seconds, 2),
        "p50_ms": found["p50_ms"],
        "p99_ms": found["p99_ms"],
    }


def writes(persist: bool, short: bool) -> Figures:
    """Each kind of write on a server of its own."""
    found = {}
    for kind in WRITES:
        with served(persist) as server:
            found[kind] = measured(
                server, load.write_kind, kind, CLIENTS, (40 if kind == "cycle" else 150) // (2 if short else 1)
            )
    return found


def reads(persist: bool, short: bool) -> Figures:
    """Single Workloads, and pages of a list, among 2,000 Workloads."""
    with served(persist) as server:
        measured(server, load.write_kind, "workload", CLIENTS, 100)
        single = [f"{WORKLOADS}/workload-{client}-{number}" for client in range(CLIENTS) for number in range(100)]
        each = 150 if short else 500
        return {
            "get": measured(server, load.read_paths, single, CLIENTS, each),
            "page_of_50": measured(server, load.read_paths, [f"{WORKLOADS}?limit=50"], CLIENTS, each // 5),
        }


def watches(persist: bool, short: bool) -> Figures:
    """Watches on Workloads while Workloads are written as fast as the server takes them."""
    count, objects = 100, 2000 if short else 10_000
    with served(persist) as server:
        watching = load.run_apart(load.watch_all, server.address, f"{WORKLOADS}?watch=true", count, objects)
        watching.ready()
        before = server.cpu_s()
        writing = load.run_apart(load.write_kind, server.address, "workload", CLIENTS, objects // CLIENTS)
        writing.ready()
        writing.go()
        wrote, saw = writing.finish(), watching.finish()
        if saw["events"] < count * objects:
            raise RuntimeError(f"{saw['events']} events came instead of {count * objects}")
        return {
            "watches": count,
            "objects": objects,
            "events": saw["events"],
            "mib_delivered": saw["octets"] // 2**20,
            "last_write_to_last_delivery_s": round(saw["ended"] - wrote["ended"], 3),
            "first_write_to_last_delivery_s": round(saw["ended"] - wrote["started"], 2),
            "writes_per_s_meanwhile": round(objects / (wrote["ended"] - wrote["started"])),
            "server_cpu_s": round(server.cpu_s() - before, 2),
            "load_cpu_s": round(wrote["cpu_s"] + saw["cpu_s"], 2),
        }


def memory(persist: bool, short: bool) -> Figures:
    """Resident memory before and after; the objects stay."""
    objects = 10_000 if short else 100_000
    with served(persist) as server:
        empty = server.rss_mib()
        made = {
            kind: measured(server, load.write_kind, kind, CLIENTS, objects // 2 // CLIENTS)
            for kind in ("job", "workload")
        }
        pages = measured(server, load.read_paths, [f"{JOBS}?limit=500"], 1, 10)
        return {
            "objects": sum(part["requests"] for part in made.values()),
            "rss_empty_mib": empty,
            "rss_mib": server.rss_mib(),
            "writes_per_s": {kind: part["per_s"] for kind, part in made.items()},
            "page_of_500_p50_ms": pages["p50_ms"],
        }


PARTS = {"writes": writes, "reads": reads, "watches": watches, "memory": memory}


def verdicts(found: Figures) -> dict[str, bool]:
    """Which targets were met, of those that were measured whole."""
    met = {}
    if "writes" in found:
        met["writes_per_s"] = found["writes"]["cycle"]["per_s"] >= TARGETS["writes_per_s"]
    if "reads" in found:
        met["reads_per_s"] = found["reads"]["get"]["per_s"] >= TARGETS["reads_per_s"]
    if "watches" in found:
        name = "watch_last_write_to_last_delivery_s"
        met[name] = found["watches"]["last_write_to_last_delivery_s"] <= TARGETS[name]
    if found.get("memory", {}).get("objects") == 100_000:
        name = "memory_100000_objects_mib"
        met[name] = found["memory"]["rss_mib"] < TARGETS[name]
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all when none is named")
    parser.add_argument("--short", action="store_true", help="a fifth of the work, for development")
    parser.add_argument("--memory-only-store", action="store_true", help="keep nothing on disk")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no {sorted(unknown)[0]!r}; parts are {', '.join(PARTS)}")
    persist = not options.memory_only_store
    started = time.monotonic()
    found: Figures = {name: PARTS[name](persist, options.short) for name in options.parts or PARTS}
    head = {"persistent": persist, "clients": CLIENTS, "targets": TARGETS, "met": verdicts(found)}
    head["calibration"] = calibration()
    print(json.dumps({**head, **found, "seconds": round(time.monotonic() - started)}, indent=2))


if __name__ == "__main__":
    main()

"""The engine against the performance baseline of the reference engine: the same work, in virtual time.

    python -m tests.benchmarks.engine [p1] [p1-all-at-t0] [p2] [--objects DIR] [--json]

Replays the workload sets of ``shared/perf`` by the loop of its README, each in a process of its own, and prints a table
and JSON: CPU seconds in all and in cycles, cycles, admissions per CPU second, CPU and wall time per cycle, peak memory,
ratios to the reference as measured and scaled by the calibration loop, and whether the check counts agree. Last it says
which modules were in use, compiled or plain, and judges by their targets; it ends with 1 when one is missed or a count
differs, and with 2, without measuring, when compiled modules are older than their sources.

What counts: heads, cycle and the status writes of its plan (``cycle``; ``decisions`` is the same without the writes),
and what the state does on creation, admission, eviction and finish. Writes are built by the functions that the agent's
writer uses and then dropped. Not counted, as in the reference: turning a written object into the view that the
informer would decode (``decoding_cpu_s``), and this program's own bookkeeping.
"""

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from tests.benchmarks.calibration import REFERENCE_LOOP_S, calibration
from tests.benchmarks.virtual_cluster import VirtualCluster, Work, load
from worker_agent.api.document import Document
from worker_agent.app import memory

OBJECTS = Path(__file__).parents[2].parent / "shared" / "perf"


@dataclass(frozen=True)
class Reference:
    """What the reference engine did and needed for one work: counts, CPU seconds, CPU milliseconds of a cycle."""

    cycles: int
    admissions: int
    preemptions: int
    ends: float
    total_s: float
    cycles_s: float
    p50_ms: float
    p99_ms: float


REFERENCE = {
    "p1": Reference(1010, 20850, 5850, 75.9, 27.7, 15.7, 8.7, 88.5),
    "p1-all-at-t0": Reference(715, 15000, 0, 66.1, 16.9, 9.6, 6.1, 70.9),
    "p2": Reference(406, 54133, 4133, 4.6, 108.5, 84.0, 154.5, 739.3),
}


TOTAL_TARGET = 0.5
P99_TARGET = {"plain": 0.3, "compiled": 0.2}
"""The most that the calibrated ratios to the reference may be; p99 of a cycle counts for p2, by modules in use."""

COMPILE = Path(__file__).parents[2] / "scripts" / "compile"
IN_USE = {0: "compiled", 1: "plain", 2: "stale"}
"""What the exit code of ``scripts/compile --check`` means."""


def modules_in_use() -> str:
    """``compiled``, ``plain``, or ``stale``: what is measured then would not be what the sources say."""
    return IN_USE[
        subprocess.run([sys.executable, COMPILE, "--check"], stdout=subprocess.DEVNULL, check=False).returncode
    ]


class Meter:
    """CPU and wall seconds of the parts that count."""

    def __init__(self) -> None:
        self.total = 0.0
        self.decisions: list[float] = []
        self.cycles: list[float] = []
        self.walls: list[float] = []

    @contextmanager
    def counted(self) -> Iterator[None]:
        began = process_time()
        yield
        self.total += process_time() - began


def run(name: str, objects: Path) -> Document:
    """Do one work in this process."""
    work = load(objects, name)
    cluster = VirtualCluster(work)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*memory.THRESHOLDS)
    meter = Meter()
    _by_steps(cluster, work, meter) if name == "p2" else _by_events(cluster, work, meter)
    return _report(name, cluster, meter)


def _by_events(cluster: VirtualCluster, work: Work, meter: Meter) -> None:
    """Time goes on to whatever comes next; at each instant cycles run until nothing moves."""
    while True:
        _time_passes(cluster, meter)
        while cluster.competing:
            before = cluster.competing
            _cycle(cluster, meter)
            if not cluster.moved and cluster.competing == before:
                break
        if cluster.next_instant is None:
            return
        cluster.t = cluster.next_instant


def _by_steps(cluster: VirtualCluster, work: Work, meter: Meter) -> None:
    """Every 10 ms at most one cycle, until everything has finished or 500 cycles ran."""
    while cluster.next_instant is not None or cluster.competing or cluster.t == 0:
        _time_passes(cluster, meter)
        if cluster.competing:
            _cycle(cluster, meter)
            if len(meter.cycles) == 500:
                return
        cluster.t += 10_000
        if cluster.finished == len(work.rows):
            return


def _time_passes(cluster: VirtualCluster, meter: Meter) -> None:
    views = [*cluster.ends(), *cluster.arrivals()]
    with meter.counted():
        cluster.observe(views)


def _cycle(cluster: VirtualCluster, meter: Meter) -> None:
    wall, began = perf_counter(), process_time()
    plan = cluster.decide()
    decided = process_time()
    written = cluster.write(plan)
    done = process_time()
    meter.walls.append(perf_counter() - wall)
    meter.decisions.append(decided - began)
    meter.cycles.append(done - began)
    views = cluster.views(written)
    with meter.counted():
        cluster.observe(views)
    views = cluster.completed_evictions(plan)
    with meter.counted():
        cluster.observe(views)


def _report(name: str, cluster: VirtualCluster, meter: Meter) -> Document:
    reference = REFERENCE[name]
    scale = calibration()
    total, cycles = meter.total + sum(meter.cycles), sum(meter.cycles)
    counts = (len(meter.cycles), cluster.admissions, cluster.preemptions, round(cluster.t / 1e6, 3))
    expected = (reference.cycles, reference.admissions, reference.preemptions, reference.ends)
    machine = scale["loop_s"] / REFERENCE_LOOP_S
    p99 = _quantile(meter.cycles, 0.99)
    ratio = {"total": total / reference.total_s, "p99": p99 / reference.p99_ms}
    return {
        "work": name,
        "modules": modules_in_use(),
        "cycles": counts[0],
        "admissions": counts[1],
        "preemptions": counts[2],
        "ends_s": counts[3],
        "heads": cluster.heads,
        "status_writes": cluster.status_writes,
        "counts_agree": counts == expected,
        "total_cpu_s": total,
        "cycles_cpu_s": cycles,
        "decisions_cpu_s": sum(meter.decisions),
        "decoding_cpu_s": cluster.decoding,
        "admissions_per_cpu_s": cluster.admissions / total,
        "cycle_cpu_ms": {"p50": _quantile(meter.cycles, 0.5), "p99": p99},
        "decisions_cpu_ms": {"p50": _quantile(meter.decisions, 0.5), "p99": _quantile(meter.decisions, 0.99)},
        "cycle_wall_ms": {"p50": _quantile(meter.walls, 0.5), "p99": _quantile(meter.walls, 0.99)},
        "peak_rss_mb": _peak_mb(),
        "ratio": ratio,
        "calibrated_ratio": {what: share / machine for what, share in ratio.items()},
        "calibration": scale,
    }


def judged(result: Document) -> Document:
    """The result with its targets and, one sentence each, what it misses."""
    targets = {"total": TOTAL_TARGET}
    if result["work"] == "p2":
        targets["p99"] = P99_TARGET[result["modules"]]
    ratios = result["calibrated_ratio"]
    missed = [
        f"{result['work']}: {what} is {ratios[what]:.3f} of the reference's, at most {most} is the target"
        f" for {result['modules']} modules"
        for what, most in targets.items()
        if ratios[what] > most
    ]
    if not result["counts_agree"]:
        missed.append(f"{result['work']}: cycles, admissions, preemptions or the end differ from the recorded run's")
    return {**result, "target": targets, "missed": missed, "target_met": not missed}


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def _quantile(seconds: list[float], share: float) -> float:
    """In milliseconds."""
    return 1000 * sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


ROW = "{:<13} {:>6} {:>10} {:>11} {:>6}  {:>8} {:>8} {:>9} {:>8}  {:>15} {:>15}  {:>7}  {:>13}"


def table(results: list[Document]) -> str:
    heading = ROW.format(
        "work", "cycles", "admissions", "preemptions", "counts", "CPU s", "cycles s", "decisions", "adm/CPUs",
        "CPU p50/p99 ms", "wall p50/p99 ms", "MiB", "total/p99 cal.",
    )  # fmt: skip
    return "\n".join([heading, *(ROW.format(*_cells(result)) for result in results)])


def _cells(r: Document) -> list[str]:
    cpu, wall, ratio = r["cycle_cpu_ms"], r["cycle_wall_ms"], r["calibrated_ratio"]
    return [
        r["work"],
        r["cycles"],
        r["admissions"],
        r["preemptions"],
        "agree" if r["counts_agree"] else "DIFFER",
        f"{r['total_cpu_s']:.1f}",
        f"{r['cycles_cpu_s']:.1f}",
        f"{r['decisions_cpu_s']:.1f}",
        f"{r['admissions_per_cpu_s']:.0f}",
        f"{cpu['p50']:.1f} / {cpu['p99']:.1f}",
        f"{wall['p50']:.1f} / {wall['p99']:.1f}",
        f"{r['peak_rss_mb']:.0f}",
        f"{ratio['total']:.2f} / {ratio['p99']:.2f}",
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.engine", description=__doc__)
    parser.add_argument("works", nargs="*", choices=[*REFERENCE, []], help="which works (default: all)")
    parser.add_argument("--objects", type=Path, default=OBJECTS, help="folder with the recorded workload sets")
    parser.add_argument("--json", action="store_true", help="only JSON; one work runs in this very process")
    options = parser.parse_args(arguments)
    if not options.objects.is_dir():
        parser.error(f"{options.objects} is missing; name the folder of p1-objects.json.gz with --objects")
    if modules_in_use() == "stale":
        parser.error("compiled modules are older than their sources; run scripts/compile, or scripts/compile --remove")
    works = options.works or list(REFERENCE)
    if options.json and len(works) == 1:
        results = [judged(run(works[0], options.objects))]
        print(json.dumps(results[0]))
    else:
        results = [_in_process_of_its_own(name, options.objects) for name in works]
        print(json.dumps(results) if options.json else f"{table(results)}\n{json.dumps(results, indent=2)}")
    print(verdict(results), file=sys.stderr)
    return 0 if all(result["target_met"] for result in results) else 1


def verdict(results: list[Document]) -> str:
    """In words: what was in use, and what was missed."""
    missed = [sentence for result in results for sentence in result["missed"]]
    in_use = " and ".join(sorted({result["modules"] for result in results}))
    return "\n".join([f"{in_use} modules in use: {'targets missed' if missed else 'all targets met'}", *missed])


def _in_process_of_its_own(name: str, objects: Path) -> Document:
    """Its verdict is given again with those of the others."""
    command = [sys.executable, "-m", "tests.benchmarks.engine", name, "--json", "--objects", str(objects)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"the process of {name} ended with {done.returncode}:\n{done.stderr}")
    result: Document = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

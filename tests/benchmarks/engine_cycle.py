"""CPU of a scheduling cycle: 30 ClusterQueues in 5 cohorts, several thousand pending workloads in virtual time.

``python -m tests.benchmarks.engine_cycle [--per-queue N]`` prints JSON: CPU per cycle (heads and cycle, without
status writes), admissions per CPU second with ratio to the reference and target, CPU of all that the state does, and
the calibration loops to scale by.
"""

import argparse
import gc
import json
import resource
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta
from time import process_time

import msgspec

from tests.benchmarks.calibration import REFERENCE_LOOP_S, calibration
from tests.builders import cluster_queue, flavor, local_queue, namespace, quota, workload
from tests.conformance import engine_objects
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.plan import Admit
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState

START = timestamps.parse("2026-01-01T12:00:00Z")
REFERENCE_ADMISSIONS_PER_CPU_S = 888.0
"""Of the reference engine where 15,000 workloads of such a cluster are pending at the start, status writes included."""
TARGET = 2.0
"""The least calibrated ratio: half the reference's CPU for an admission."""
CLASSES = (("small", 70, 1, 50, 0.2), ("medium", 20, 5, 100, 0.5), ("large", 10, 20, 200, 1.0))
"""Name, percent of the workloads, cpu, priority, seconds to run."""


class Run:
    """One cluster worked off: everything is pending at the start, admitted workloads end after their run time."""

    def __init__(self, per_queue: int) -> None:
        self.state = ClusterState(DEFAULT)
        self.now = START
        self.documents: dict[Key, Document] = {}
        self.seconds: dict[Key, float] = {}
        self.ends: dict[Key, datetime] = {}
        self.cycles: list[float] = []
        self.admissions = 0
        engine_objects.load(self.state, _queues(), self.now)
        for document, seconds in _workloads(per_queue):
            key = engine_objects.key_of(document)
            self.documents[key], self.seconds[key] = document, seconds
        self.views = {key: engine_objects.decode(document, Workload) for key, document in self.documents.items()}

    def __call__(self) -> Document:
        gc.collect()
        gc.freeze()
        began = process_time()
        for view in self.views.values():
            self.state.put_workload(view, self.now)
        loaded = process_time() - began
        while self.state.rows:
            self._cycles()
            self._time_passes()
        total = process_time() - began
        return {
            "workloads": len(self.documents),
            "cycles": len(self.cycles),
            "admissions": self.admissions,
            "cycle_cpu_ms": {name: 1000 * _quantile(self.cycles, q) for name, q in (("p50", 0.5), ("p99", 0.99))},
            "cycle_cpu_s": sum(self.cycles),
            "load_cpu_s": loaded,
            "total_cpu_s": total,
            "admissions_per_cpu_s": self.admissions / total,
            "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }

    def _cycles(self) -> None:
        """Cycles at this instant, until none admits anything."""
        while True:
            began = process_time()
            heads = self.state.heads(self.now)
            plan = run_cycle(self.state, heads, DEFAULT, self.now) if heads else None
            if plan is None:
                return
            self.cycles.append(process_time() - began)
            for step in plan.admissions:
                self._admitted(step)
            if not plan.admissions:
                return

    def _admitted(self, step: Admit) -> None:
        self.admissions += 1
        self.ends[step.key] = self.now + timedelta(seconds=self.seconds[step.key])
        status = {"admission": step.admission, "conditions": [self._true("QuotaReserved"), self._true("Admitted")]}
        self._write(step.key, status)

    def _time_passes(self) -> None:
        """On to the next end of a run."""
        self.now = min(self.ends.values())
        for key in [key for key, end in self.ends.items() if end <= self.now]:
            del self.ends[key]
            self._write(key, {"conditions": [self._true("Finished")]})
        self.state.flush_requeues(self.now)

    def _write(self, key: Key, status: Document) -> None:
        # The view is decoded outside of the timed cycle; what the state does with it counts in the total.
        raw = msgspec.json.encode({**self.documents[key], "status": status})
        self.state.put_workload(msgspec.json.decode(raw, type=Workload), self.now)

    def _true(self, type_: str) -> Document:
        since = timestamps.rfc3339(self.now)
        return {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": since}


def _queues() -> Iterable[Document]:
    yield namespace()
    yield flavor("rf")
    for number in range(30):
        name = f"cq-{number // 6}-{number % 6}"
        yield cluster_queue(name, {"rf": {"cpu": quota(20, borrowing=100)}}, cohort=f"cohort-{number // 6}")
        yield local_queue(name, name)


def _workloads(per_queue: int) -> Iterable[tuple[Document, float]]:
    number = 0
    for queue in range(30):
        for name, percent, cpu, priority, seconds in CLASSES:
            for index in range(per_queue * percent // 100):
                created = timestamps.rfc3339(START - timedelta(seconds=100_000 - number))
                document = workload(
                    f"{name}-{queue}-{index}",
                    queue=f"cq-{queue // 6}-{queue % 6}",
                    cpu=cpu,
                    priority=priority,
                    created=created,
                )
                number += 1
                yield document, seconds


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _compared(result: Document, scale: Document) -> Document:
    """With the ratio to the reference's admissions per CPU second in a like work, and the least it has to be."""
    ratio = result["admissions_per_cpu_s"] / REFERENCE_ADMISSIONS_PER_CPU_S
    calibrated = ratio * scale["loop_s"] / REFERENCE_LOOP_S
    return {
        **result,
        "reference_admissions_per_cpu_s": REFERENCE_ADMISSIONS_PER_CPU_S,
        "ratio": ratio,
        "calibrated_ratio": calibrated,
        "target": TARGET,
        "target_met": calibrated >= TARGET,
        "calibration": scale,
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.engine_cycle", description=__doc__)
    parser.add_argument("--per-queue", type=int, default=200, help="workloads per ClusterQueue (default 200)")
    options = parser.parse_args(arguments)
    print(json.dumps(_compared(Run(options.per_queue)(), calibration()), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How the cost of a cycle grows: with the number of ClusterQueues, and with the number of finished Workloads.

    python -m tests.benchmarks.engine_growth [--queues 10 100 1000 3000] [--cycles N] [--chart PATH]

Every ClusterQueue (ten to a cohort) always has a head; each cycle some Workloads are admitted, and as many finish. The
second half holds 100 ClusterQueues and lets more and more Workloads finish before it measures. Prints JSON: CPU
milliseconds of a cycle (p50 and p99), per head, admissions per CPU second of the cycles, peak memory so far, and
the work counted in changes of the quota tree; ``--chart`` draws both halves as SVG. Time per head must not grow with
either; where it does so for queues it is the processor's caches that tell.
"""

import argparse
import gc
import json
import resource
import sys
from datetime import timedelta
from pathlib import Path
from time import process_time

import msgspec

from tests.benchmarks.calibration import calibration
from tests.benchmarks.growth_chart import Series, draw
from tests.builders import cluster_queue, flavor, local_queue, namespace, quota, workload
from tests.conformance import engine_objects
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.app import memory
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.plan import Admit
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState

START = timestamps.parse("2026-01-01T12:00:00Z")
QUEUES = (10, 100, 1000, 3000)
FINISHED = (0, 1000, 10_000, 30_000)
PER_COHORT = 10
WAITING = 4
"""Workloads that wait in each ClusterQueue."""


class Growing:
    """A cluster in which every ClusterQueue always has heads, on virtual time."""

    def __init__(self, queues: int) -> None:
        self.queues = queues
        self.state = ClusterState(DEFAULT)
        self.now = START
        self._made = 0
        self._running: list[Document] = []
        self._documents: dict[Key, Document] = {}
        preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        objects = [namespace(), flavor("rf")]
        for number in range(queues):
            name, cohort = f"q{number}", f"cohort{number // PER_COHORT}"
            quotas = {"rf": {"cpu": quota(4, borrowing=4)}}
            objects += [cluster_queue(name, quotas, cohort=cohort, preemption=preemption), local_queue(name, name)]
        engine_objects.load(self.state, objects, START)
        for number in range(queues):
            for _ in range(WAITING):
                self.arrive(number)

    @property
    def running(self) -> int:
        """Workloads that were admitted since the last ones finished."""
        return len(self._running)

    def arrive(self, queue: int) -> None:
        self._made += 1
        created = timestamps.rfc3339_micro(START + timedelta(milliseconds=self._made))
        cpu, priority = 1 + self._made % 3, 10 * (self._made % 3)
        document = workload(f"w{self._made}", queue=f"q{queue}", cpu=cpu, priority=priority, created=created)
        self._documents[engine_objects.key_of(document)] = document
        self._put(document)

    def cycle(self) -> tuple[float, int, int]:
        """CPU seconds of one cycle, its heads, and the changes it made to tables of quota."""
        self.now += timedelta(seconds=1)
        journal, began = self.state.journal, process_time()
        changes = journal.changes
        heads = self.state.heads(self.now)
        plan = run_cycle(self.state, heads, DEFAULT, self.now)
        seconds = process_time() - began
        changed = journal.changes - changes
        for step in plan.steps:
            if isinstance(step, Admit):
                self._admitted(step)
        return seconds, len(heads), changed

    def _admitted(self, step: Admit) -> None:
        since = timestamps.rfc3339(self.now)
        conditions = [
            {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": since}
            for type_ in ("QuotaReserved", "Admitted")
        ]
        status = {"admission": step.admission, "conditions": conditions}
        document = {**self._documents.pop(step.key), "status": status}
        self._put(document)
        self._running.append(document)

    def work_off(self) -> None:
        """All that runs finishes, each followed by a new one in its queue."""
        for document in self._running:
            done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
            self._put({**document, "status": {"conditions": [done]}})
            self.arrive(int(document["spec"]["queueName"][1:]))
        self._running.clear()
        self.state.flush_requeues(self.now)

    def finish(self, count: int) -> None:
        """``count`` further Workloads come, are admitted and finish outside of what is measured."""
        while count > 0:
            self.cycle()
            count -= len(self._running)
            self.work_off()

    def _put(self, document: Document) -> None:
        self.state.put_workload(msgspec.json.decode(msgspec.json.encode(document), type=Workload), self.now)


def measure(queues: int, finished: int, cycles: int) -> Document:
    cluster = Growing(queues)
    cluster.finish(finished)
    gc.collect()
    gc.set_threshold(*memory.THRESHOLDS)
    cluster.cycle()
    cluster.work_off()
    seconds, heads, changed, admitted = [], 0, 0, 0
    for _ in range(cycles):
        spent, taken, changes = cluster.cycle()
        admitted += cluster.running
        cluster.work_off()
        seconds.append(spent)
        heads += taken
        changed += changes
    in_order = [1000 * second for second in sorted(seconds)]
    p50, p99 = in_order[len(in_order) // 2], in_order[min(len(in_order) - 1, int(0.99 * len(in_order)))]
    return {
        "cluster_queues": queues,
        "finished": finished,
        "heads_per_cycle": heads / cycles,
        "cycle_cpu_ms": {"p50": p50, "p99": p99},
        "admissions_per_cpu_s": admitted / sum(seconds),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpu_us_per_head": 1e6 * sum(seconds) / heads,
        "changes_per_head": changed / heads,
        "rows": len(cluster.state.rows),
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.engine_growth", description=__doc__)
    parser.add_argument("--queues", type=int, nargs="+", default=QUEUES)
    parser.add_argument("--finished", type=int, nargs="+", default=FINISHED)
    parser.add_argument("--cycles", type=int, default=9, help="cycles per figure (default 9)")
    parser.add_argument("--chart", type=Path, help="where to draw the chart (SVG)")
    options = parser.parse_args(arguments)
    by_queues = [measure(queues, 0, options.cycles) for queues in options.queues]
    by_finished = [measure(100, finished, options.cycles) for finished in options.finished]
    if options.chart:
        series = (
            Series("ClusterQueues with heads", [(r["cluster_queues"], r["cycle_cpu_ms"]["p50"]) for r in by_queues]),
            Series("finished Workloads", [(r["finished"], r["cycle_cpu_ms"]["p50"]) for r in by_finished]),
        )
        options.chart.write_text(draw("CPU milliseconds of a cycle", series))
    print(json.dumps({"by_queues": by_queues, "by_finished": by_finished, "calibration": calibration()}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

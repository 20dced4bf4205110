"""How many pairs of workload and cluster the hub judges in a second, inline and on Ray, and what it keeps in memory.

    python -m tests.benchmarks.evaluate [--clusters 3,20,50] [--queues 1000] [--heads 100] [--actors 0,1,2] [--rounds 5]

Every cluster has 1,000 ClusterQueues and 10,000 admitted Workloads, known up to date; a hundred workloads are asked
about, each on all clusters: 70 % FITS, 20 % WAITS, 10 % FITS_AFTER_PREEMPTION (up to 20 victims). Each case runs in a
process of its own (0 actors is inline) and is the median of its rounds: ``round_s`` is what a hub waits, ``hub_cpu_s``
the CPU it uses, which is the figure that counts on a machine shared with others.
``memory_mib`` is what the hub's process holds more than before, the objects' bytes that its watches keep among it;
``actors_mib`` is on top. ``auto`` says whether the cost model moves such rounds to Ray, and whether that is right:
measured rounds are over its budget, and Ray's are shorter. Prints JSON; the last run's answers are compared across all
ways of evaluating.
"""

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from hub.engine import evaluation
from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.evaluation.auto import CostModel
from hub.evaluation.evaluator import Evaluator
from hub.evaluation.inline import InlineEvaluator
from hub.evaluation.ray_pool import RayOptions, RayPool
from tests.benchmarks import evaluation_world
from tests.benchmarks.calibration import REFERENCE_LOOP_S, calibration
from worker_agent.app import memory
from worker_agent.engine.policy import Policy

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TARGET_SECONDS = 1.0
TARGET_MIB = 2048


class FixedClock:
    """Time stands still: answers depend on it, and are compared."""

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return perf_counter()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return 0.5


def resident_mib(pid: int | str = "self") -> int:
    """Private and shared pages of a process in memory; 0 when it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def children_of(pid: int) -> Iterable[int]:
    """All processes below one."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            yield int(child)
            yield from children_of(int(child))


def actors_mib() -> int:
    """Of the actors that hold clusters, not of Ray's own processes."""
    found = 0
    for pid in children_of(os.getpid()):
        try:
            title = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        if "DeskActor" in title:
            found += resident_mib(pid)
    return found


async def run(clusters: int, queues: int, heads: int, actors: int, rounds: int) -> dict[str, Any]:
    """One case in this process."""
    before = resident_mib()
    known = [event for cluster in range(clusters) for event in evaluation_world.events(cluster, queues)]

    def replay(observe: Callable[[KnowledgeEvent], None]) -> None:
        for event in known:
            observe(event)

    clock = FixedClock()
    evaluator: Evaluator
    if actors:
        evaluator = RayPool(Policy(), clock, replay, RayOptions(actors=actors))
    else:
        evaluator = InlineEvaluator(Policy(), clock, threaded=False)
        replay(evaluator.observe)
    gc.disable()
    began = perf_counter()
    await evaluator.evaluate([])
    loaded = perf_counter() - began
    gc.collect()
    gc.freeze()
    gc.set_threshold(*memory.THRESHOLDS)
    gc.enable()
    requests = evaluation_world.requests(heads, clusters, queues)
    walls, cpus = [], []
    answers: list[list[Evaluation]] = []
    for _ in range(rounds):
        wall, cpu = perf_counter(), process_time()
        answers = await ask(evaluator, requests)
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)
    result = {
        "clusters": clusters,
        "actors": actors,
        "load_s": round(loaded, 2),
        "round_s": round(median(walls), 3),
        "hub_cpu_s": round(median(cpus), 3),
        "pairs_per_s": round(heads * clusters / median(walls)),
        "memory_mib": resident_mib() - before,
        "actors_mib": actors_mib() if actors else 0,
        "mix": mix(answers),
        "most_victims": max(found.victims for answer in answers for found in answer),
        "answers": sha256(evaluation.encode_answers(answers)).hexdigest()[:16],
    }
    await evaluator.close()
    return result


async def ask(evaluator: Evaluator, requests: Sequence[Request]) -> list[list[Evaluation]]:
    """In batches as the dispatch loop brings them."""
    size = evaluator.batch_size
    answers: list[list[Evaluation]] = []
    for start in range(0, len(requests), size):
        answers += await evaluator.evaluate(requests[start : start + size])
    return answers


def mix(answers: Sequence[Sequence[Evaluation]]) -> dict[str, float]:
    """Shares of the verdicts."""
    counts = Counter(Outlook(found.outlook).name for answer in answers for found in answer)
    return {name: round(count / counts.total(), 3) for name, count in sorted(counts.items())}


def automatic(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the cost model makes of the measured inline rounds, and whether the measured Ray rounds prove it right
    (None where Ray was not measured)."""
    model = CostModel()
    found = []
    for case in cases:
        if case["actors"]:
            continue
        ray = next((o for o in cases if o["clusters"] == case["clusters"] and o["actors"] == model.actors), None)
        moves, right = model.pays(case["round_s"]), None
        if ray is not None:
            right = moves == (case["round_s"] > model.budget and ray["round_s"] < case["round_s"])
        found.append({"clusters": case["clusters"], "round_s": case["round_s"], "moves": moves, "right": right})
    return found


def report(cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    largest = max((case for case in cases if case["actors"] == 0), key=lambda case: int(case["clusters"]), default=None)
    alike = {
        case["clusters"]: len({o["answers"] for o in cases if o["clusters"] == case["clusters"]}) for case in cases
    }
    measured = calibration()
    return {
        "cases": list(cases),
        "auto": automatic(cases),
        "answers_identical": all(count == 1 for count in alike.values()),
        "slower_than_reference_machine": round(float(measured["loop_s"]) / REFERENCE_LOOP_S, 2),
        "targets": {
            "largest_inline_cpu_s": largest["hub_cpu_s"] if largest else None,
            "round_met": bool(largest and largest["hub_cpu_s"] < TARGET_SECONDS),
            "memory_met": bool(largest and largest["memory_mib"] <= TARGET_MIB),
        },
    }


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=numbers, default=[3, 20, 50], help="numbers of clusters")
    parser.add_argument("--actors", type=numbers, default=[0, 1, 2], help="numbers of Ray actors; 0 is inline")
    parser.add_argument("--queues", type=int, default=evaluation_world.QUEUES, help="ClusterQueues per cluster")
    parser.add_argument("--heads", type=int, default=100, help="workloads asked about in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="store_true", help="run the one case given in this process")
    given = parser.parse_args()
    if given.case:
        case = run(given.clusters[0], given.queues, given.heads, given.actors[0], given.rounds)
        print(json.dumps(asyncio.run(case)))
        return 0
    cases = []
    for clusters in given.clusters:
        for actors in given.actors:
            command = [sys.executable, "-m", "tests.benchmarks.evaluate", "--case", "--clusters", str(clusters)]
            command += ["--actors", str(actors), "--queues", str(given.queues)]
            command += ["--heads", str(given.heads), "--rounds", str(given.rounds)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            cases.append(json.loads(done.stdout.splitlines()[-1]))
    print(json.dumps(report(cases), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

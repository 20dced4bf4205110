"""What not knowing costs: mean time to start and work lost to preemption, against a dispatcher that knows everything.

    python -m tests.benchmarks.regret [--jobs 2000] [--seeds 1,2,3,4,5] [--delay-ms 100]

A trace of jobs over five unequal clusters on virtual time. Every cluster is a real engine; the hub is the real one's
views, evaluation and choice. Compared: ``capacity-aware`` as it is (each message between hub and worker takes a delay,
run times are unknown), the same policy with zero delay and true run times (``oracle``: where a job would wait, the wait
is worked out from the true ends of everybody before it), and Kueue's AllAtOnce and Incremental with the same delay.
The manager's own quota is not in the way; a preempted job is dispatched anew and starts from nothing. Prints JSON:
per dispatcher mean and median seconds from creation to the first start, pod-seconds lost to preemption, copies made;
``regret`` is the mean's ratio to the oracle's over all traces, ``lost_work_ratio`` that of the work lost, targets at
most 1.10. A message takes 100 ms unless said otherwise: a fast one around the world.
"""

import argparse
import heapq
import itertools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from statistics import mean, median
from time import process_time
from typing import Any, Final

import msgspec

from hub.controllers.dispatch_loop import SHORTEST_PACE
from hub.engine import dispatch, incremental
from hub.engine.dispatch import Candidates
from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.views import UNREADABLE
from hub.engine.work_order import Assume, Desk, Observe, Release
from tests.builders import cluster_queue, flavor, local_queue, namespace, workload
from tests.engine_world import START, EngineWorld
from worker_agent.api.dispatch_policy import DispatchPolicySpec
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.plan import Admit, Preempt
from worker_agent.engine.policy import DEFAULT

CPUS: Final = {"small": 16, "medium": 32, "large": 64, "big": 96, "huge": 128}
UTILISATION: Final = 0.95
PATIENCE: Final = timedelta(minutes=5)
TICK_MS: Final = int(SHORTEST_PACE * 1000)
"""How often the hub looks again at those that wait, while something changes."""
INCREMENTAL_MS: Final = 300_000
TARGET: Final = 1.10


@dataclass
class Job:
    """Times in milliseconds of the trace. ``started`` is the first start; ``begun`` that of the run under way."""

    key: Key
    created: int
    pods: int
    seconds: int
    priority: int
    clusters: set[str] = field(default_factory=set)
    winner: str = ""
    started: int | None = None
    begun: int = 0
    attempt: int = 0


def trace(count: int, seed: int) -> list[Job]:
    """Poisson arrivals that would keep the clusters busy to 95 %; sizes and run times spread as in training."""
    chance = random.Random(seed)
    shapes = [(chance.choice([1, 1, 2, 2, 4, 4, 8, 16]), _run_seconds(chance)) for _ in range(count)]
    demand = mean(pods * seconds for pods, seconds in shapes)
    rate = UTILISATION * sum(CPUS.values()) / demand
    jobs, now = [], 0.0
    for number, (pods, seconds) in enumerate(shapes):
        now += chance.expovariate(rate)
        priority = 100 if chance.random() < 0.1 else 0
        jobs.append(Job(Key("ns", f"job-{number:05}"), int(now * 1000), pods, seconds, priority))
    return jobs


def _run_seconds(chance: random.Random) -> int:
    return max(5, min(7200, int(chance.lognormvariate(5.0, 1.1))))


class Simulation:
    """Workers, the wires between them and the hub, and time. A dispatcher is a subclass."""

    name = ""

    def __init__(self, jobs: Sequence[Job], delay_ms: int) -> None:
        self.jobs = {job.key: job for job in jobs}
        self.delay = delay_ms
        self.now = 0
        self.lost = 0
        self.copies = 0
        self._numbers = itertools.count()
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        preemption = {"withinClusterQueue": "LowerPriority"}
        self.workers: dict[str, EngineWorld] = {}
        for name, cpu in CPUS.items():
            objects = [namespace(), flavor(), cluster_queue(cpu=cpu, preemption=preemption), local_queue()]
            self.workers[name] = EngineWorld(objects)
        for job in jobs:
            self.at(job.created, partial(self.arrives, job))

    # What a dispatcher says.

    def arrives(self, job: Job) -> None:
        """A job is new, or was preempted and wants a cluster again."""
        raise TypeError(f"{type(self).__name__} is no dispatcher")

    def heard(self, cluster: str, key: Key, raw: bytes) -> None:
        """A worker's object changed, as the hub sees it; ``raw`` is empty when it is gone."""

    # Time.

    def at(self, when: int, what: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (when, next(self._numbers), what))

    def later(self, what: Callable[[], None], trips: int = 1) -> None:
        self.at(self.now + trips * self.delay, what)

    def run(self) -> dict[str, Any]:
        began = process_time()
        while self._agenda:
            self.now, _, what = heapq.heappop(self._agenda)
            what()
        waits = [(job.started - job.created) / 1000 for job in self.jobs.values() if job.started is not None]
        if len(waits) != len(self.jobs):
            raise RuntimeError(f"{self.name}: {len(self.jobs) - len(waits)} jobs never started")
        return {
            "mean_s": round(mean(waits), 2),
            "median_s": round(median(waits), 2),
            "lost_pod_seconds": self.lost,
            "copies_per_job": round(self.copies / len(self.jobs), 2),
            "cpu_s": round(process_time() - began, 1),
        }

    # What the hub tells workers.

    def create(self, job: Job, cluster: str) -> None:
        job.clusters.add(cluster)
        self.copies += 1
        attempt = job.attempt
        self.later(lambda: self._created(job, cluster, attempt))

    def withdraw(self, job: Job, cluster: str) -> None:
        job.clusters.discard(cluster)
        self.later(lambda: self._deleted(job, cluster))

    def document(self, job: Job) -> Document:
        created = (START + timedelta(milliseconds=self.now)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return workload(job.key.name, cpu=1, count=job.pods, priority=job.priority, created=created)

    # What happens on workers.

    def _world(self, cluster: str) -> EngineWorld:
        world = self.workers[cluster]
        world.now = START + timedelta(milliseconds=self.now)
        return world

    def _created(self, job: Job, cluster: str, attempt: int) -> None:
        if job.attempt != attempt or cluster not in job.clusters:
            return
        world = self._world(cluster)
        world.put(self.document(job))
        self._tell(cluster, job.key)
        self._cycles(cluster)

    def _deleted(self, job: Job, cluster: str) -> None:
        world = self._world(cluster)
        if ("Workload", job.key) in world.objects and cluster not in job.clusters:
            world.delete("Workload", job.key)
            self._tell(cluster, job.key)
            self._cycles(cluster)

    def _cycles(self, cluster: str) -> None:
        world = self._world(cluster)
        while True:
            plan = world.cycle()
            for step in plan:
                if isinstance(step, Preempt):
                    self._preempted(cluster, self.jobs[step.key])
                elif isinstance(step, Admit):
                    self._tell(cluster, step.key)
                    self._admitted(cluster, self.jobs[step.key])
            if not plan.progressed and not any(isinstance(step, Preempt) for step in plan):
                return

    def _admitted(self, cluster: str, job: Job) -> None:
        attempt, admitted = job.attempt, self.now
        self.later(lambda: self._won(cluster, job, attempt, admitted))

    def _won(self, cluster: str, job: Job, attempt: int, admitted: int) -> None:
        """The hub sees the admission: the first is the winner; the job itself follows one trip later."""
        if job.attempt != attempt or job.winner or cluster not in job.clusters:
            return
        job.winner = cluster
        for other in [name for name in job.clusters if name != cluster]:
            self.withdraw(job, other)
        begun = self.now + self.delay
        job.begun = begun
        if job.started is None:
            job.started = begun
        self.at(begun + job.seconds * 1000, lambda: self._ends(job, attempt))

    def _ends(self, job: Job, attempt: int) -> None:
        if job.attempt != attempt:
            return
        cluster, world = job.winner, self._world(job.winner)
        world.finish(job.key)
        world.delete("Workload", job.key)
        job.attempt += 1
        self._tell(cluster, job.key)
        self._cycles(cluster)

    def _preempted(self, cluster: str, job: Job) -> None:
        """Its copy leaves the worker at once, and the manager takes it back."""
        if job.winner == cluster:
            self.lost += job.pods * max(0, self.now - job.begun) // 1000
        self._world(cluster).delete("Workload", job.key)
        self._tell(cluster, job.key)
        if job.winner and job.winner != cluster:
            return
        for other in list(job.clusters):
            self.withdraw(job, other)
        job.clusters, job.winner = set(), ""
        job.attempt += 1
        self.later(lambda: self.arrives(job))

    def _tell(self, cluster: str, key: Key) -> None:
        document = self.workers[cluster].objects.get(("Workload", key))
        raw = msgspec.json.encode(document) if document is not None else b""
        self.later(lambda: self.heard(cluster, key, raw))


class AllAtOnce(Simulation):
    name = "all-at-once"

    def arrives(self, job: Job) -> None:
        for cluster in CPUS:
            self.create(job, cluster)


class Incremental(Simulation):
    name = "incremental"

    def arrives(self, job: Job) -> None:
        self._round(job, job.attempt)

    def _round(self, job: Job, attempt: int) -> None:
        if job.attempt != attempt or job.winner or len(job.clusters) == len(CPUS):
            return
        for cluster in incremental.next_round(list(CPUS), sorted(job.clusters)):
            if cluster not in job.clusters:
                self.create(job, cluster)
        self.at(self.now + INCREMENTAL_MS, lambda: self._round(job, attempt))


class CapacityAware(Simulation):
    """The hub as it is: one cluster each, chosen by its views, looked at again when something changed."""

    name = "capacity-aware"

    def __init__(self, jobs: Sequence[Job], delay_ms: int) -> None:
        super().__init__(jobs, delay_ms)
        self._desk = Desk(DEFAULT)
        self._policy = DispatchPolicySpec()
        self._waiting: dict[Key, int] = {}
        """Jobs without a winner, and their outlook where they are."""
        self._tick_due = False
        for name, world in self.workers.items():
            plurals = {"Namespace": "namespaces", "ResourceFlavor": "resourceflavors"}
            plurals |= {"ClusterQueue": "clusterqueues", "LocalQueue": "localqueues"}
            for (kind, key), document in world.objects.items():
                raw = msgspec.json.encode(document)
                self._observe(KnowledgeEvent(name, plurals[kind], key.namespace, key.name, raw))
            self._observe(KnowledgeEvent(name, UNREADABLE, raw=b"clustercapacities"))

    def arrives(self, job: Job) -> None:
        self._waiting[job.key] = int(Outlook.UNKNOWN)
        self._consider(job)

    def heard(self, cluster: str, key: Key, raw: bytes) -> None:
        self._observe(KnowledgeEvent(cluster, "workloads", key.namespace, key.name, raw))
        if self._waiting and not self._tick_due:
            self._tick_due = True
            self.at(self.now + (TICK_MS if self.delay else 0), self._tick)

    def _observe(self, event: KnowledgeEvent) -> None:
        self._desk.carry_out([Observe(event)], START + timedelta(milliseconds=self.now))

    def _tick(self) -> None:
        self._tick_due = False
        for key in [key for key in self._waiting if self.jobs[key].winner]:
            del self._waiting[key]
        again = [self.jobs[key] for key, outlook in self._waiting.items() if outlook != Outlook.FITS]
        for job in sorted(again, key=lambda job: (-job.priority, job.created)):
            self._consider(job)

    def _consider(self, job: Job) -> None:
        now = START + timedelta(milliseconds=self.now)
        raw = msgspec.json.encode(self.document(job))
        request = Request("ns", job.key.name, "batch/job", tuple(CPUS), raw)
        (answer,) = self._desk.answer([request], now)
        current = next(iter(job.clusters), "")
        found = Candidates(job.key, tuple(self.judged(job, answer)), current=current)
        decision = dispatch.decide(found, self._policy, now, PATIENCE)
        chosen = next(each for each in decision.chosen if each.cluster == decision.cluster)
        self._waiting[job.key] = chosen.outlook
        if decision.cluster == current:
            return
        if current:
            self._desk.carry_out([Release(current, "ns", job.key.name)], now)
            self.withdraw(job, current)
        if chosen.outlook == Outlook.FITS and chosen.admission:  # without one a copy on its way out still stands there
            order = Assume(chosen.cluster, "ns", job.key.name, raw, chosen.admission)
            self._desk.carry_out([order], now)
        self.create(job, decision.cluster)

    def judged(self, job: Job, answer: Sequence[Evaluation]) -> Sequence[Evaluation]:
        """The answer as the choice sees it."""
        return answer


class Oracle(CapacityAware):
    """Zero delay, and waits in true seconds instead of demand."""

    name = "oracle"

    def judged(self, job: Job, answer: Sequence[Evaluation]) -> Sequence[Evaluation]:
        return [
            msgspec.structs.replace(each, wait=self._wait_ms(job, each.cluster))
            if each.outlook == Outlook.WAITS
            else each
            for each in answer
        ]

    def _wait_ms(self, job: Job, cluster: str) -> int:
        """When it would start there: those before it take their turns as room gets free."""
        mine = [other for other in self.jobs.values() if cluster in other.clusters]
        ends = [(other.begun + other.seconds * 1000, other.pods) for other in mine if other.winner == cluster]
        heapq.heapify(ends)
        free, now = CPUS[cluster] - sum(pods for _, pods in ends), self.now
        ahead = [other for other in mine if not other.winner and other is not job]
        ahead = [other for other in ahead if (-other.priority, other.created) < (-job.priority, job.created)]
        for other in [*sorted(ahead, key=lambda each: (-each.priority, each.created)), job]:
            while free < other.pods and ends:
                now, pods = heapq.heappop(ends)
                free += pods
            free -= other.pods
            heapq.heappush(ends, (now + other.seconds * 1000, other.pods))
        return now - self.now


DISPATCHERS: Final[tuple[type[Simulation], ...]] = (Oracle, CapacityAware, AllAtOnce, Incremental)


def compare(count: int, seed: int, delay_ms: int) -> dict[str, Any]:
    """All dispatchers on the same trace."""
    return {kind.name: kind(trace(count, seed), 0 if kind is Oracle else delay_ms).run() for kind in DISPATCHERS}


def ratios(results: Sequence[dict[str, Any]], figure: str) -> dict[str, float]:
    """Of the sums over all traces, to the oracle's. A single trace says little: a few long waits decide its mean."""
    sums = {name: sum(found[name][figure] for found in results) for name in results[0]}
    oracle = sums[Oracle.name]
    return {name: round(value / oracle, 3) for name, value in sums.items()} if oracle else {}


def report(count: int, seeds: Sequence[int], delay_ms: int) -> dict[str, Any]:
    results = [compare(count, seed, delay_ms) for seed in seeds]
    regret, work = ratios(results, "mean_s"), ratios(results, "lost_pod_seconds")
    return {
        "jobs": count,
        "delay_ms": delay_ms,
        "traces": [{"seed": seed, "dispatchers": found} for seed, found in zip(seeds, results, strict=True)],
        "regret": regret,
        "lost_work_ratio": work,
        "target_met": all(each.get(CapacityAware.name, 1.0) <= TARGET for each in (regret, work)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2_000, help="jobs of a trace")
    parser.add_argument("--seeds", default="1,2,3,4,5", help="one trace for each")
    parser.add_argument("--delay-ms", type=int, default=100, help="one message between hub and worker")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    print(json.dumps(report(given.jobs, seeds, given.delay_ms), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

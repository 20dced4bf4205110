"""The hub's verdict against the worker's decision, on random states.

    python -m tests.property.verdicts [--cases 10000] [--seed 0]

A case is a worker at rest after a random history (all that could be admitted is), a hub's view of it made of the same
objects, and a new workload. The hub says FITS, AFTER_PREEMPTION or WAITS (IMPOSSIBLE among them: neither starts); then
the workload is created and the worker's own cycles decide. Prints JSON; the exit code is 1 where any case differs.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, Final

import msgspec

from hub.engine import judging
from hub.engine.evaluation import Outlook, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.views import UNREADABLE, Views
from tests.builders import cluster_queue, cohort, flavor, local_queue, namespace, pod_set, quota, workload
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.plan import Admit, Preempt
from worker_agent.engine.policy import DEFAULT

CLUSTER: Final = "worker"
FLAVORS: Final = ("reserved", "spot")
RESOURCES: Final = ("cpu", "memory")
MOST_CYCLES: Final = 60
QUESTIONS: Final = 4
"""Cases made of one state."""

_PLURALS: Final = {
    "Namespace": "namespaces",
    "ResourceFlavor": "resourceflavors",
    "Cohort": "cohorts",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "LimitRange": "limitranges",
    "Workload": "workloads",
}


@dataclass(frozen=True)
class Case:
    """``told`` by the hub and ``decided`` by the worker: FITS, AFTER_PREEMPTION with its victims, or WAITS."""

    seed: int
    number: int
    told: tuple[str, tuple[str, ...]]
    decided: tuple[str, tuple[str, ...]]
    message: str = ""

    @property
    def differs(self) -> bool:
        return self.told != self.decided


def cases(seed: int) -> Iterator[Case]:
    """The cases of one random worker."""
    chance = random.Random(seed)
    policy = replace(DEFAULT, fair_sharing=chance.random() < 0.3)
    world = EngineWorld(_objects(chance), policy)
    for number in range(chance.randint(5, 25)):
        world.advance(1)
        world.put(_workload(chance, f"w{number:03}", world))
        if chance.random() < 0.5:
            world.cycle()
        if chance.random() < 0.15:
            running = [key for key, document in world.workloads() if (document.get("status") or {}).get("admission")]
            if running:
                world.finish(chance.choice(running))
    for number in range(QUESTIONS):
        if not _rests(world):
            return
        world.advance(60)
        yield _case(chance, seed, number, world)


def _rests(world: EngineWorld) -> bool:
    """Cycles until nothing is decided any more; False where that does not come about."""
    for _ in range(MOST_CYCLES):
        released = world.release_evicted()
        plan = world.cycle()
        if not released and not any(isinstance(step, Admit | Preempt) for step in plan) and _all_parked(world):
            return True
    return False


def _all_parked(world: EngineWorld) -> bool:
    """Only the heads of strict queues stay active for good: two cycles in a row see the same ones."""
    return all(queue.strict or not queue.has_active for queue in world.state.pending.values())


def _case(chance: random.Random, seed: int, number: int, world: EngineWorld) -> Case:
    new = _workload(chance, f"new-{number}", world, most_urgent=6)
    told, message = _hub_says(world, new)
    world.put(new)
    return Case(seed, number, told, _worker_decides(world, Key("ns", f"new-{number}")), message)


def _hub_says(world: EngineWorld, new: Document) -> tuple[tuple[str, tuple[str, ...]], str]:
    views = Views(world.policy)
    views.apply(_knowledge(world), world.now)
    metadata = new["metadata"]
    request = Request(metadata["namespace"], metadata["name"], "batch/job", (CLUSTER,), msgspec.json.encode(new))
    (verdict,) = judging.evaluate(request, views, world.policy, world.now)
    if verdict.outlook == Outlook.FITS:
        return ("FITS", ()), verdict.message
    if verdict.outlook == Outlook.FITS_AFTER_PREEMPTION:
        return ("AFTER_PREEMPTION", (str(verdict.victims),)), verdict.message
    return ("WAITS", ()), verdict.message


def _knowledge(world: EngineWorld) -> Iterator[KnowledgeEvent]:
    for (kind, key), document in world.objects.items():
        yield KnowledgeEvent(CLUSTER, _PLURALS[kind], key.namespace, key.name, msgspec.json.encode(document))
    yield KnowledgeEvent(CLUSTER, UNREADABLE, raw=b"clustercapacities")


def _worker_decides(world: EngineWorld, key: Key) -> tuple[str, tuple[str, ...]]:
    """What the worker's first decision about it is; evicted pods do not stop meanwhile."""
    for _ in range(MOST_CYCLES):
        plan = world.cycle()
        steps = list(plan)
        if any(isinstance(step, Admit) and step.key == key for step in steps):
            return "FITS", ()
        victims = [step.key for step in steps if isinstance(step, Preempt) and step.preemptor == key]
        if victims:
            return "AFTER_PREEMPTION", (str(len(victims)),)
        if key not in {row_key for queue in world.state.pending.values() for row_key in queue.active()}:
            return "WAITS", ()
    return "WAITS", ()


# -- random objects ------------------------------------------------------------------------------------------------


def _objects(chance: random.Random) -> list[Document]:
    cohorts = chance.randint(0, 3)
    taints = [{"key": "spot", "value": "true", "effect": "NoSchedule"}] if chance.random() < 0.4 else []
    found = [namespace(), flavor(FLAVORS[0], labels={"tier": "reserved"})]
    found.append(flavor(FLAVORS[1], labels={"tier": "spot"}, nodeTaints=taints))
    for index in range(cohorts):
        parent = f"c{chance.randrange(index)}" if index and chance.random() < 0.7 else ""
        groups = [_quotas(chance, bool(parent))] if chance.random() < 0.5 else []
        found.append(cohort(f"c{index}", *groups, parent=parent))
    for index in range(chance.randint(1, 5)):
        found += _queue(chance, f"q{index}", cohorts)
    if chance.random() < 0.15:
        found.append(_limit_range(chance))
    return found


def _queue(chance: random.Random, name: str, cohorts: int) -> list[Document]:
    parent = f"c{chance.randrange(cohorts)}" if cohorts and chance.random() < 0.8 else ""
    preemption: Document = {
        "withinClusterQueue": chance.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        "reclaimWithinCohort": chance.choice(["Never", "LowerPriority", "Any"]) if parent else "Never",
    }
    if parent and preemption["reclaimWithinCohort"] != "Never" and chance.random() < 0.4:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority"}
        if chance.random() < 0.5:
            preemption["borrowWithinCohort"]["maxPriorityThreshold"] = chance.randint(0, 2)
    fungibility = {
        "whenCanBorrow": chance.choice(["MayStopSearch", "TryNextFlavor"]),
        "whenCanPreempt": chance.choice(["MayStopSearch", "TryNextFlavor"]),
    }
    fields: Document = {"stopPolicy": "Hold"} if chance.random() < 0.05 else {}
    strict = chance.random() < 0.3
    queue = cluster_queue(
        name,
        _quotas(chance, bool(parent)),
        cohort=parent,
        strict=strict,
        preemption=preemption,
        fungibility=fungibility,
        **fields,
    )
    return [queue, local_queue(f"l-{name}", name)]


def _quotas(chance: random.Random, limited: bool) -> Document:
    def entry() -> Document:
        nominal = chance.randint(0, 10)
        borrowing = chance.randint(0, 8) if limited and chance.random() < 0.4 else None
        lending = chance.randint(0, nominal) if limited and chance.random() < 0.3 else None
        return quota(nominal, borrowing=borrowing, lending=lending)

    chosen = FLAVORS if chance.random() < 0.7 else FLAVORS[:1]
    return {name: {resource: entry() for resource in RESOURCES} for name in chosen}


def _limit_range(chance: random.Random) -> Document:
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}, "max": {"cpu": "4"}}]
    metadata = {"name": "limits", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}}


def _workload(chance: random.Random, name: str, world: EngineWorld, most_urgent: int = 3) -> Document:
    sets = []
    for index in range(1 if chance.random() < 0.8 else 2):
        count = chance.randint(1, 4)
        least = chance.randint(1, count) if index == 0 and chance.random() < 0.2 else None
        requests = {resource: chance.randint(0, 3) for resource in RESOURCES if chance.random() < 0.85}
        sets.append(pod_set(f"p{index}", count=count, min_count=least, requests=requests, spec=_placing(chance)))
    names = [key.name for kind, key in world.objects if kind == "LocalQueue"]
    created = world.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return workload(name, *sets, queue=chance.choice(names), priority=chance.randint(0, most_urgent), created=created)


def _placing(chance: random.Random) -> Document:
    spec: dict[str, Any] = {}
    if chance.random() < 0.2:
        spec["nodeSelector"] = {"tier": chance.choice(["reserved", "spot", "gold"])}
    if chance.random() < 0.5:
        spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    return spec


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first state; one more for each further state")
    given = parser.parse_args()
    began, seed = process_time(), given.seed
    verdicts: Counter[str] = Counter()
    different: list[Case] = []
    while verdicts.total() < given.cases:
        for case in cases(seed):
            verdicts[case.decided[0]] += 1
            if case.differs:
                different.append(case)
        seed += 1
    shown = [{"seed": c.seed, "case": c.number, "hub": c.told, "worker": c.decided, "m": c.message} for c in different]
    figures = {"cases": verdicts.total(), "decisions": dict(verdicts), "differences": len(different)}
    print(json.dumps({**figures, "states": seed - given.seed, "cpu_s": round(process_time() - began, 1)}, indent=2))
    for line in shown[:20]:
        print(json.dumps(line))
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())

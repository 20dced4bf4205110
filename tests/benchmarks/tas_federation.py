"""Topology requests over a federation: which of 50 clusters of 5,000 nodes has a free block of 256?

``python -m tests.benchmarks.tas_federation [--clusters N] [--nodes N] [--requests N] [--ray] [--objects DIR]`` prints a
table and JSON: seconds to take in what a hub hears of all clusters, and to evaluate all requests over all of them, the
first time (each topology is laid out) and once more; inline and, with ``--ray``, in actors, whose answers must be the
same to the last number. The actors' own CPU is not in this process's.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.evaluation.inline import InlineEvaluator
from hub.evaluation.ray_pool import RayOptions, RayPool, stop_ray
from tests.benchmarks import tas_world
from tests.benchmarks.tas_world import BLOCK, HOST, RACK, START
from tests.conformance import engine_objects
from worker_agent.api.document import Document
from worker_agent.engine import capacity, policy
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState
from worker_agent.kube.clock import SystemClock

GANG = 256
WORKLOADS = 12
"""Of so many pods each, spread over random hosts of a cluster."""


def knowledge(cluster: str, found: Document, chance: random.Random) -> list[KnowledgeEvent]:
    """What a hub hears of one cluster: its queues, its workloads, its agent's report. No node is among it."""
    told = [
        {"kind": "Namespace", "metadata": {"name": "default"}},
        found["topology"],
        found["flavor"],
        found["clusterQueue"],
        {"kind": "LocalQueue", "metadata": {"name": "q", "namespace": "default"}, "spec": {"clusterQueue": "tas"}},
    ]
    state = ClusterState(policy.resolve({}))
    engine_objects.load(state, [*told, *found["nodes"]], START)
    hosts = [node["metadata"]["labels"][HOST] for node in found["nodes"]]
    busy = chance.uniform(0.1, 0.9)
    for number in range(int(WORKLOADS * busy)):
        told.append(_running(f"old-{number}", sorted(chance.sample(hosts, min(GANG, len(hosts)))), chance))
        engine_objects.put(state, told[-1], START)
    report = {"metadata": {"name": "this"}, "status": capacity.report(state, DEFAULT, START, ["batch/job"])}
    events = [_event(cluster, document) for document in told]
    return [*events, KnowledgeEvent(cluster, "clustercapacities", "", "this", msgspec.json.encode(report))]


def _event(cluster: str, document: Document) -> KnowledgeEvent:
    metadata = document["metadata"]
    plural = {"Topology": "topologies"}.get(document["kind"], document["kind"].lower() + "s")
    raw = msgspec.json.encode(document)
    return KnowledgeEvent(cluster, plural, metadata.get("namespace", ""), metadata["name"], raw)


def _running(name: str, hosts: list[str], chance: random.Random) -> Document:
    individual = {"individual": {"roots": hosts}}
    slices = [{"domainCount": len(hosts), "podCounts": {"universal": 1}, "valuesPerLevel": [individual]}]
    cpu = chance.choice([40, 90])
    assignment = {
        "name": "main",
        "count": len(hosts),
        "flavors": {"cpu": "tas"},
        "resourceUsage": {"cpu": str(cpu * len(hosts))},
        "topologyAssignment": {"levels": [HOST], "slices": slices},
    }
    stamp = {"reason": "x", "message": "", "lastTransitionTime": "2026-01-01T12:00:00Z"}
    conditions = [{"type": t, "status": "True", **stamp} for t in ("QuotaReserved", "Admitted")]
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-01-01T12:00:00Z"},
        "spec": {"queueName": "q", "podSets": [tas_world.pod_set(len(hosts), cpu, {"unconstrained": True})]},
        "status": {
            "admission": {"clusterQueue": "tas", "podSetAssignments": [assignment]},
            "conditions": conditions,
        },
    }


def requests(count: int, clusters: Sequence[str], chance: random.Random) -> list[Request]:
    found = []
    for number in range(count):
        ask = chance.choice([{"required": BLOCK}, {"required": RACK}, {"preferred": BLOCK}, {"unconstrained": True}])
        pods, cpu = chance.choice([16, 64, GANG]), chance.choice([4, 16, 90])
        document = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": f"new-{number}", "namespace": "default", "uid": f"new-{number}"},
            "spec": {"queueName": "q", "podSets": [tas_world.pod_set(pods, cpu, ask)]},
        }
        raw = msgspec.json.encode(document)
        found.append(Request("default", f"new-{number}", "batch/job", tuple(clusters), raw))
    return found


class Seconds:
    """What was measured, by name."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}

    def note(self, name: str) -> Callable[[], None]:
        began, worked = time.perf_counter(), time.process_time()

        def done() -> None:
            self.found[name] = time.perf_counter() - began
            self.found[f"{name}, own CPU"] = time.process_time() - worked

        return done


async def measured(
    made: Any, events: Sequence[KnowledgeEvent], asked: Sequence[Request]
) -> tuple[dict[str, float], list[list[Evaluation]]]:
    seconds = Seconds()
    done = seconds.note("take in")
    for event in events:
        made.observe(event)
    await made.evaluate([])
    done()
    done = seconds.note("first evaluation")
    await made.evaluate(asked)
    done()
    done = seconds.note("evaluation")
    answers = await made.evaluate(asked)
    done()
    return seconds.found, answers


async def run(options: argparse.Namespace) -> Document:
    chance = random.Random(1)
    found = tas_world.objects(10_000, options.objects)
    found["nodes"] = found["nodes"][: options.nodes]
    clusters = [f"worker-{number:02}" for number in range(options.clusters)]
    events = [event for cluster in clusters for event in knowledge(cluster, found, chance)]
    reports = [len(event.raw) for event in events if event.plural == "clustercapacities"]
    asked = requests(options.requests, clusters, chance)
    inline, answers = await measured(InlineEvaluator(DEFAULT, SystemClock(), threaded=False), events, asked)
    result: Document = {
        "clusters": options.clusters,
        "nodes": options.nodes,
        "requests": options.requests,
        "largest_report_bytes": max(reports),
        "outlooks": Counter(Outlook(a.outlook).name for row in answers for a in row),
        "inline": inline,
    }
    if options.ray:
        pool = RayPool(DEFAULT, SystemClock(), lambda observe: [observe(e) for e in events], RayOptions(actors=2))
        try:
            result["ray"], others = await measured(pool, (), asked)
        finally:
            await pool.close()
            stop_ray()
        if others != answers:
            raise RuntimeError("the actors answer otherwise than inline")
    return result


def table(result: Document) -> Iterator[str]:
    ways = [way for way in ("inline", "ray") if way in result]
    yield f"{result['requests']} topology requests over {result['clusters']} clusters of {result['nodes']:,} nodes"
    yield f"{'seconds':32}" + "".join(f"{way:>10}" for way in ways)
    for name in result["inline"]:
        yield f"{name:32}" + "".join(f"{result[way][name]:10.3f}" for way in ways)
    pairs = result["requests"] * result["clusters"]
    for name in ("evaluation", "evaluation, own CPU"):
        each = "".join(f"{result[way][name] / pairs * 1000:10.3f}" for way in ways)
        yield f"{f'{name}: ms a pair':32}{each}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--ray", action="store_true", help="evaluate in Ray actors too")
    parser.add_argument("--objects", type=Path, default=tas_world.OBJECTS)
    result = asyncio.run(run(parser.parse_args()))
    for line in table(result):
        print(line, file=sys.stderr)
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

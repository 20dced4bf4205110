"""CPU of topology placement on 640, 10,000 and 40,000 nodes, row by row against the reference engine.

``python -m tests.benchmarks.tas [640] [10000] [40000] [--rounds N] [--objects DIR]`` prints JSON: per number of nodes
and row the CPU milliseconds (p50, p99), the reference's p50 on the same work and the ratio, as measured and scaled by
the calibration loop.

Rows: ``placement`` is a search with its result and message; ``cycle`` a whole cycle for one head, ``cycle of 50`` for
one in each of 50 queues (told in single cycles). There is no snapshot to build: ``cold build`` is what a first question
costs, ``node changed`` an event that changes amounts, ``node gone and back`` events that change the tree; the
reference builds a new snapshot for either.
"""

import argparse
import gc
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

from tests.benchmarks.calibration import REFERENCE_LOOP_S, calibration
from tests.conformance import engine_objects
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node
from worker_agent.api.workload import PodSetTopologyRequest
from worker_agent.app import memory
from worker_agent.engine import policy
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas import driver
from worker_agent.engine.tas.ask import PodDemand, PodSetAsk
from worker_agent.engine.tas.driver import Situation
from worker_agent.engine.tas.placer import Attempt

OBJECTS = Path(__file__).parents[2].parent / "shared" / "perf"
START = timestamps.parse("2026-01-01T12:00:00Z")
RACK, BLOCK = "topology.example.com/rack", "topology.example.com/block"
QUEUES = 50
REQUESTS: dict[str, tuple[int, Document]] = {
    "required-rack": (4, {"required": RACK}),
    "preferred-block": (4, {"preferred": BLOCK}),
    "preferred-block-one-pod-per-node": (90, {"preferred": BLOCK}),
    "unconstrained": (4, {"unconstrained": True}),
    "required-rack-infeasible": (90, {"required": RACK}),
}
REFERENCE_MS = {
    640: (
        {"required-rack": 0.27, "preferred-block": 0.29, "preferred-block-one-pod-per-node": 0.97},
        {"unconstrained": 0.52, "required-rack-infeasible": 0.14},
        {
            "required-rack": 1.19,
            "preferred-block": 1.55,
            "preferred-block-one-pod-per-node": 4.63,
            "unconstrained": 3.2,
        },
        2.43,
    ),
    10000: (
        {"required-rack": 9.78, "preferred-block": 4.61, "preferred-block-one-pod-per-node": 6.34},
        {"unconstrained": 10.46, "required-rack-infeasible": 9.23},
        {
            "required-rack": 22.87,
            "preferred-block": 18.49,
            "preferred-block-one-pod-per-node": 19.56,
            "unconstrained": 30.71,
        },
        61.84,
    ),
    40000: (
        {"required-rack": 35.53, "preferred-block": 34.36, "preferred-block-one-pod-per-node": 47.27},
        {"unconstrained": 120.25, "required-rack-infeasible": 54.37},
        {
            "required-rack": 87.81,
            "preferred-block": 127.56,
            "preferred-block-one-pod-per-node": 133.46,
            "unconstrained": 235.80,
        },
        227.02,
    ),
}
"""p50 of the reference (Go, in process): placements on one snapshot, whole cycles, a snapshot after a node changed."""


def build(objects: Document) -> ClusterState:
    state = ClusterState(policy.resolve({}))
    queue = objects["clusterQueue"]
    queues = [{**queue, "metadata": {"name": f"tas-{i}" if i else "tas"}} for i in range(QUEUES)]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    local = [_local_queue(q["metadata"]["name"]) for q in queues]
    engine_objects.load(
        state, [namespace, *objects["nodes"], objects["flavor"], objects["topology"], *queues, *local], START
    )
    for number, document in enumerate(_prefilled(objects)):
        engine_objects.put(state, {**document, "metadata": {**document["metadata"], "uid": f"old-{number}"}}, START)
    return state


def _local_queue(name: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def _pod_set(count: int, cpu: int, request: Document) -> Document:
    container = {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "name": "main",
        "count": count,
        "template": {"spec": {"containers": [container]}},
        "topologyRequest": request,
    }


def _prefilled(objects: Document) -> list[Document]:
    """Of ten nodes, the first three hold one pod of 40 cpu each."""
    found = []
    for index, node in enumerate(objects["nodes"]):
        if index % 10 < 3:
            host = node["metadata"]["labels"]["kubernetes.io/hostname"]
            place = {
                "levels": ["kubernetes.io/hostname"],
                "slices": [{"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": host}]}],
            }
            assignment = {
                "name": "main",
                "count": 1,
                "flavors": {"cpu": "tas"},
                "resourceUsage": {"cpu": "40"},
                "topologyAssignment": place,
            }
            conditions = [{"type": t, "status": "True", "reason": "x"} for t in ("QuotaReserved", "Admitted")]
            admission = {"clusterQueue": "tas", "podSetAssignments": [assignment]}
            found.append(
                {
                    "kind": "Workload",
                    "metadata": {"name": f"old-{index}", "namespace": "default"},
                    "spec": {"queueName": "tas", "podSets": [_pod_set(1, 40, {"unconstrained": True})]},
                    "status": {"admission": admission, "conditions": conditions},
                }
            )
    return found


def measure(rounds: int, action: Callable[[], object], between: Callable[[], object] | None = None) -> Document:
    times = []
    for _ in range(rounds):
        began = process_time()
        action()
        times.append((process_time() - began) * 1000)
        if between is not None:
            between()
    times.sort()
    return {"p50_ms": times[len(times) // 2], "p99_ms": times[min(len(times) - 1, int(len(times) * 0.99))]}


def rows(nodes: int, objects: Document, rounds: int) -> dict[str, Document]:
    state = build(objects)
    placements, more, cycles, rebuilt = REFERENCE_MS[nodes]
    expected = {**placements, **more}
    gc.collect()
    gc.freeze()
    gc.set_threshold(*memory.THRESHOLDS)
    began = process_time()
    state.topology.room("tas")
    result: dict[str, Document] = {"cold build": {"p50_ms": (process_time() - began) * 1000}}
    for name, (cpu, request) in REQUESTS.items():
        row = measure(rounds, _placement(state, cpu, request))
        result[f"placement {name}"] = {**row, "reference_ms": expected[name]}
    for name, (cpu, request) in REQUESTS.items():
        if name in cycles:
            row = measure(max(10, rounds // 3), *_cycle(state, cpu, request, 1))
            result[f"cycle {name}"] = {**row, "reference_ms": cycles[name]}
    many = measure(5, *_cycle(state, *REQUESTS["required-rack"], QUEUES))
    many["single_cycles"] = many["p50_ms"] / result["cycle required-rack"]["p50_ms"]
    result[f"cycle of {QUEUES} required-rack"] = many
    result["node changed"] = {**measure(rounds, _node_event(state, objects)), "reference_ms": rebuilt}
    result["node gone and back"] = {**measure(6, _node_leaves(state, objects)), "reference_ms": 2 * rebuilt}
    return result


def _placement(state: ClusterState, cpu: int, request: Document) -> Callable[[], object]:
    asked = engine_objects.decode(request, PodSetTopologyRequest)
    ask = PodSetAsk("main", 256, {"cpu": cpu * 1000}, asked, PodDemand())
    room = state.topology.room("tas")
    if room is None:
        raise RuntimeError("the flavor has no nodes")
    return lambda: driver.place_all(room, [ask], Situation(), Attempt(state.policy.topology))


def _cycle(
    state: ClusterState, cpu: int, request: Document, queues: int
) -> tuple[Callable[[], object], Callable[[], object]]:
    keys = [Key("default", f"new-{i}") for i in range(queues)]

    def create() -> None:
        for i, key in enumerate(keys):
            state.delete_workload(key, START)
            spec = {"queueName": f"tas-{i}" if i else "tas", "podSets": [_pod_set(256, cpu, request)]}
            metadata = {"name": key.name, "namespace": key.namespace, "uid": key.name}
            engine_objects.put(state, {"kind": "Workload", "metadata": metadata, "spec": spec}, START)

    def cycle() -> None:
        plan = run_cycle(state, state.heads(START), state.policy, START)
        if len(plan.admissions) != queues:
            raise RuntimeError(f"{len(plan.admissions)} of {queues} workloads were admitted")

    create()
    return cycle, create


def _node_event(state: ClusterState, objects: Document) -> Callable[[], object]:
    """Allocatable changes; the next question sees it."""
    document = objects["nodes"][5]
    views = []
    for cpu in ("95", "96"):
        status = {**document["status"], "allocatable": {**document["status"]["allocatable"], "cpu": cpu}}
        views.append(engine_objects.decode({**document, "status": status}, Node))
    turn = iter(range(sys.maxsize))

    def change() -> None:
        state.put_node(views[next(turn) % 2])
        state.topology.room("tas")

    return change


def _node_leaves(state: ClusterState, objects: Document) -> Callable[[], object]:
    view = engine_objects.decode(objects["nodes"][7], Node)

    def leave() -> None:
        state.delete_node(view.metadata.name)
        state.topology.room("tas")
        state.put_node(view)
        state.topology.room("tas")

    return leave


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", nargs="*", type=int, default=list(REFERENCE_MS), metavar="NODES")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--objects", type=Path, default=OBJECTS)
    options = parser.parse_args()
    report: Document = {"calibration": calibration()}
    scale = REFERENCE_LOOP_S / report["calibration"]["loop_s"]
    for nodes in options.nodes:
        path = options.objects / f"p3-nodes-{nodes}.json.gz"
        found = rows(nodes, json.loads(gzip.decompress(path.read_bytes())), options.rounds)
        for row in found.values():
            if "reference_ms" in row:
                row["ratio"] = row["p50_ms"] / row["reference_ms"]
                row["ratio_scaled"] = row["ratio"] * scale
        report[str(nodes)] = found
    json.dump(report, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

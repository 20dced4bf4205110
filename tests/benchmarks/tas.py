"""CPU of topology placement on 640, 10,000 and 40,000 nodes, row by row against the reference engine.

``python -m tests.benchmarks.tas [640] [10000] [40000] [--rounds N] [--objects DIR] [--chart FILE.svg]`` prints JSON:
per number of nodes and row the CPU milliseconds (p50, p99), the reference's best p50 on the same work, the ratio as
measured and scaled by the calibration loop, and the target. It ends with 1 when a target is missed, and says which.
``--chart`` draws how the rows grow.

Rows: ``placement`` is a search with its API object or message; ``fresh placement`` the same after somebody took other
nodes (the reference takes a new snapshot); with leader, slices or affinity the reference's plain row is the measure.
``cycle`` is a whole cycle for one head; ``cycle of 50`` for one in each of 50 queues, against 50 cycles in a row that
admit the same workloads one by one (both take turns). There is no snapshot to build: ``cold build`` is what a first
question costs, ``node changed`` an event that changes amounts, ``node gone and back`` two events that change the tree,
``all nodes`` telling the engine of every node.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

from tests.benchmarks import tas_chart, tas_reference, tas_world
from tests.benchmarks.calibration import REFERENCE_LOOP_S, calibration
from tests.benchmarks.tas_world import QUEUES, REQUESTS, START
from tests.conformance import engine_objects
from worker_agent.api.document import Document
from worker_agent.api.pod import Node
from worker_agent.app import memory
from worker_agent.engine import policy
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas import driver
from worker_agent.engine.tas.ask import PodSetAsk
from worker_agent.engine.tas.driver import Situation
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.placer import Attempt

PLACEMENT_TARGETS = {10_000: 0.05, 40_000: 0.03}
CYCLE_TARGETS = {10_000: 0.1, 40_000: 0.1}
"""Shares of the reference's time. With few nodes everything is cheap."""
TOGETHER_TARGET = 0.3
"""What a cycle with many heads may cost of as many cycles with one each."""
VARIANTS = ("leader", "slices", "affinity")


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


def once(action: Callable[[], object]) -> Document:
    began = process_time()
    action()
    return {"p50_ms": (process_time() - began) * 1000}


class Rows:
    """The rows of one number of nodes, in ``found``."""

    def __init__(self, nodes: int, folder: Path, rounds: int) -> None:
        self._nodes = nodes
        self._rounds = rounds
        self._objects = tas_world.objects(nodes, folder)
        self._reference = tas_reference.best_ms(folder, nodes)
        self._state = tas_world.build(self._objects)
        self.found: dict[str, Document] = {}
        gc.collect()
        gc.freeze()
        gc.set_threshold(*memory.THRESHOLDS)

    def measure_all(self) -> None:
        state = self._state
        self._add("all nodes", once(_all_nodes(self._objects)), "syncAllNodes")
        self._add("cold build", once(lambda: state.topology.room("tas")))
        for name, (cpu, request) in REQUESTS.items():
            plain = _placement(state, tas_world.asks(cpu, request))
            target = PLACEMENT_TARGETS.get(self._nodes)
            self._add(f"placement {name}", measure(self._rounds, plain), f"{name}/findSameSnapshot", target)
            fresh = measure(self._rounds, plain, _elsewhere(state))
            self._add(f"fresh placement {name}", fresh, f"{name}/findFreshSnapshot", target)
        for variant in VARIANTS:
            for name in ("required-rack", "preferred-block"):
                placement = _placement(state, tas_world.asks(*REQUESTS[name], variant))
                row = measure(self._rounds, placement)
                self._add(f"placement {name} {variant}", row, f"{name}/findSameSnapshot", target)
        self._cycles()
        changed, gone = _node_event(state, self._objects), _node_leaves(state, self._objects)
        self._add("node changed", measure(self._rounds, changed), "snapshotAfterNodeChange")
        self._add("node gone and back", measure(6, gone), "snapshotAfterNodeChange")

    def _cycles(self) -> None:
        for name, (cpu, request) in REQUESTS.items():
            if f"{name}/wholeCycle" in self._reference:
                row = measure(max(10, self._rounds // 3), *_cycle(self._state, cpu, request))
                tas_world.leave(self._state, 0)
                self._add(f"cycle {name}", row, f"{name}/wholeCycle", CYCLE_TARGETS.get(self._nodes))
        many = _together(self._state, *REQUESTS["required-rack"], rounds=max(9, self._rounds // 4))
        many["reference_single_cycles_ms"] = QUEUES * self._reference["required-rack/wholeCycle"]
        self._add(f"cycle of {QUEUES} required-rack", many)

    def _add(self, name: str, row: Document, reference: str = "", target: float | None = None) -> None:
        known = self._reference.get(reference)
        if known:
            row = {**row, "reference_ms": known, "ratio": row["p50_ms"] / known}
            if target is not None:
                row["target"] = target
        self.found[name] = row


def _all_nodes(objects: Document) -> Callable[[], object]:
    views = [engine_objects.decode(node, Node) for node in objects["nodes"]]
    state = ClusterState(policy.resolve({}))

    def tell() -> None:
        for view in views:
            state.put_node(view)

    return tell


def _placement(state: ClusterState, asks: list[PodSetAsk]) -> Callable[[], object]:
    room = state.topology.room("tas")
    if room is None:
        raise RuntimeError("the flavor has no nodes")

    def place() -> object:
        outcomes = driver.place_all(room, asks, Situation(), Attempt(state.policy.topology))
        return [o.reason if o.assignment is None else o.assignment.document() for o in outcomes.values()]

    return place


def _elsewhere(state: ClusterState) -> Callable[[], object]:
    """Somebody takes one pod's room, and gives it back."""
    room = state.topology.room("tas")
    if room is None:
        raise RuntimeError("the flavor has no nodes")
    pods = PlacedPods("tas", (room.tree.leaf_id(room.tree.paths[-1]),), (1,), {"cpu": 1000})
    sign = -1

    def change() -> None:
        nonlocal sign
        sign = -sign
        room.count(pods, sign)

    return change


def _cycle(state: ClusterState, cpu: int, request: Document) -> tuple[Callable[[], object], Callable[[], object]]:
    """A cycle for one head, and what brings a new one."""

    def create() -> None:
        tas_world.put_waiting(state, 0, cpu, request)

    create()
    return lambda: _admitting(state, 1), create


def _together(state: ClusterState, cpu: int, request: Document, rounds: int) -> Document:
    """The same heads in one cycle, and one by one in as many."""
    together, one_by_one = [], []
    for _ in range(rounds):
        for number in range(QUEUES):
            tas_world.put_waiting(state, number, cpu, request)
        together.append(_admitting(state, QUEUES))
        _leave(state)
        one_by_one.append(sum(_one(state, number, cpu, request) for number in range(QUEUES)))
        _leave(state)
    together.sort()
    one_by_one.sort()
    p50, alone = together[rounds // 2], one_by_one[rounds // 2]
    return {
        "p50_ms": p50,
        "p99_ms": together[-1],
        "one_by_one_ms": alone,
        "ratio_to_one_by_one": p50 / alone,
        "target_to_one_by_one": TOGETHER_TARGET,
    }


def _one(state: ClusterState, number: int, cpu: int, request: Document) -> float:
    tas_world.put_waiting(state, number, cpu, request)
    return _admitting(state, 1)


def _admitting(state: ClusterState, expected: int) -> float:
    """CPU milliseconds of a cycle that admits so many."""
    began = process_time()
    plan = run_cycle(state, state.heads(START), state.policy, START)
    spent = (process_time() - began) * 1000
    if len(plan.admissions) != expected:
        raise RuntimeError(f"{len(plan.admissions)} of {expected} workloads were admitted")
    return spent


def _leave(state: ClusterState) -> None:
    for number in range(QUEUES):
        tas_world.leave(state, number)


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
    parser.add_argument("nodes", nargs="*", type=int, default=list(tas_world.SIZES), metavar="NODES")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--objects", type=Path, default=tas_world.OBJECTS)
    parser.add_argument("--chart", type=Path, help="draw how the rows grow into this SVG file")
    options = parser.parse_args()
    report: Document = {"calibration": calibration()}
    scale = REFERENCE_LOOP_S / report["calibration"]["loop_s"]
    for nodes in options.nodes:
        rows = Rows(nodes, options.objects, options.rounds)
        rows.measure_all()
        for row in rows.found.values():
            if "ratio" in row:
                row["ratio_scaled"] = row["ratio"] * scale
        report[str(nodes)] = rows.found
    json.dump(report, sys.stdout, indent=2)
    print()
    if options.chart is not None:
        options.chart.write_text(tas_chart.draw(report), encoding="utf-8")
    missed = [line for nodes in options.nodes for line in misses(nodes, report[str(nodes)])]
    print("\n".join(["targets missed:", *missed] if missed else ["all targets met"]), file=sys.stderr)
    return 1 if missed else 0


def misses(nodes: int, rows: dict[str, Document]) -> list[str]:
    """A sentence for each target that a row misses."""
    found = []
    for name, row in rows.items():
        for ratio, target in (("ratio_scaled", "target"), ("ratio_to_one_by_one", "target_to_one_by_one")):
            if target in row and row[ratio] > row[target]:
                found.append(f"{nodes} nodes, {name}: {ratio} is {row[ratio]:.3f}, at most {row[target]} is the target")
    return found


if __name__ == "__main__":
    sys.exit(main())

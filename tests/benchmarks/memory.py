"""Memory of an agent that holds 100,000 Workloads of 4 kB each.

    python -m tests.benchmarks.memory [--workloads N] [--bytes N]

The Workloads come as an API server sends them, in pages, managedFields included, through the agent's own informers, its
store of known objects and its engine: four of five wait, the others hold quota. Prints JSON: resident memory when all
are taken in (and at its highest), the same per Workload, CPU seconds to take them in, and the target.

Their size is in the pod templates, no two of which are equal to the byte. Server and agent share no object here: a page
is made when it is asked for and forgotten.
"""

import argparse
import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import process_time

from tests.benchmarks.calibration import calibration
from tests.builders import admitted, cluster_queue, flavor, local_queue, namespace, quota, workload
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    NAMESPACES,
    RESOURCE_FLAVORS,
    WORKLOADS,
    ResourceType,
)
from worker_agent.app import memory
from worker_agent.controllers import intake
from worker_agent.controllers.engine_thread import EngineThread
from worker_agent.controllers.job_controller import OWNER_INDEX, owner_values
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response

TARGET_GIB = 1.5
QUEUES = 100
HOLDING = 5
"""Every fifth Workload holds quota."""


class Server:
    """An API server that makes what it is asked for: five kinds, in pages; its watches stay silent."""

    def __init__(self, workloads: int, size: int) -> None:
        self._workloads = workloads
        self._size = size
        queues = [f"q{number}" for number in range(QUEUES)]
        self._few: dict[str, tuple[ResourceType, list[Document]]] = {
            kind.path(): (kind, documents)
            for kind, documents in (
                (NAMESPACES, [namespace("team")]),
                (RESOURCE_FLAVORS, [flavor("rf")]),
                (CLUSTER_QUEUES, [cluster_queue(name, {"rf": {"cpu": quota(workloads)}}) for name in queues]),
                (LOCAL_QUEUES, [local_queue(name, name, namespace="team") for name in queues]),
            )
        }

    async def request(self, request: Request) -> Response:
        query = dict(request.query)
        if query.get("watch"):
            return Response(200, {}, _silence())
        if request.path == WORKLOADS.path():
            return _page(*self._some(int(query.get("continue") or 0), int(query["limit"])))
        found = self._few.get(request.path)
        return _page([json.dumps(_stored(document, n)) for n, document in enumerate(found[1])] if found else [], "")

    async def close(self) -> None:
        return None

    def _some(self, start: int, limit: int) -> tuple[list[str], str]:
        end = min(self._workloads, start + limit)
        return [self._workload(number) for number in range(start, end)], str(end) if end < self._workloads else ""

    def _workload(self, number: int) -> str:
        queue = f"q{number % QUEUES}"
        name = f"job-training-{number:06}"
        if number % HOLDING:
            document = workload(name, queue=queue, cpu=2, priority=number % 7, namespace="team")
            document["status"] = {"conditions": [_waiting()], "resourceRequests": [_asked()]}
        else:
            document = admitted(name, cluster_queue=queue, queue=queue, flavor="rf", namespace="team")
        document = _stored(document, number)
        document["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": f"aaaa-{number}", "team": f"t{number % 40}"}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"aaaa-{number}", "controller": True}
        document["metadata"]["ownerReferences"] = [owner]
        environment = document["spec"]["podSets"][0]["template"]["spec"]["containers"][0].setdefault("env", [])
        environment.append({"name": "JOB_NAME", "value": name})
        environment.append({"name": "SETTINGS", "value": ""})
        environment[-1]["value"] = "x" * (self._size - len(json.dumps(document)))
        return json.dumps(document)


def _stored(document: Document, number: int) -> Document:
    """As a server keeps it: a version, and who wrote what."""
    fields = {f"f:{name}": {} for name in ("queueName", "priority", "podSets", "active", "conditions", "admission")}
    managed = [
        {"manager": manager, "operation": "Apply", "time": "2026-01-01T12:00:00Z", "fieldsV1": {"f:spec": fields}}
        for manager in ("kueue-job", "kueue-admission")
    ]
    return {
        **document,
        "metadata": {**document["metadata"], "resourceVersion": str(1000 + number), "managedFields": managed},
    }


def _waiting() -> Document:
    message = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor rf, 2 more needed"
    return {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "WaitingForQuota",
        "message": message,
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "observedGeneration": 1,
    }


def _asked() -> Document:
    return {"name": "main", "resources": {"cpu": "2"}}


def _page(items: list[str], token: str) -> Response:
    metadata = json.dumps({"resourceVersion": "999999", "continue": token})
    return Response(200, {}, _once(f'{{"metadata": {metadata}, "items": [{", ".join(items)}]}}'.encode()))


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def measure(workloads: int, size: int) -> Document:
    before, began = _resident_mib("VmRSS"), process_time()
    clock = SystemClock()
    client = Client(Server(workloads, size), clock)
    known = KnownObjects()
    state = ClusterState(DEFAULT)
    engine = EngineThread(state, DEFAULT, clock, on_plan=lambda plan, seconds: None)
    informers = intake.informers(client)
    for resource, source in informers.items():
        known.follow(resource, source)
        intake.feed(source, engine.post)
    known.informer(WORKLOADS).add_index(OWNER_INDEX, owner_values)
    following = [asyncio.create_task(source.run()) for source in informers.values()]
    await intake.synced(informers.values(), 3600)
    listed = _resident_mib("VmRSS")
    working = asyncio.create_task(engine.run())
    rows, holding = await engine.ask(
        lambda state, policy, now: (len(state.rows), sum(bool(row.reserved_in) for row in state.rows.values()))
    )
    gc.collect()
    gc.freeze()
    gc.set_threshold(*memory.THRESHOLDS)
    taken_in, resident = process_time() - began, _resident_mib("VmRSS")
    kept = len(known.informer(WORKLOADS).raw(known.informer(WORKLOADS).keys()[0]))
    for task in (*following, working):
        task.cancel()
    await asyncio.gather(*following, working, return_exceptions=True)
    return {
        "workloads": workloads,
        "bytes_each": size,
        "bytes_kept_each": kept,
        "rows": rows,
        "holding": holding,
        "resident_before_mib": before,
        "resident_listed_mib": listed,
        "resident_mib": resident,
        "peak_mib": _resident_mib("VmHWM"),
        "bytes_per_workload": (resident - before) * 1024 * 1024 / workloads,
        "taking_in_cpu_s": taken_in,
        "target_gib": TARGET_GIB,
        "target_met": resident <= TARGET_GIB * 1024,
    }


def _resident_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.memory", description=__doc__)
    parser.add_argument("--workloads", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=4096, help="JSON of one Workload (default 4096)")
    options = parser.parse_args(arguments)
    result = asyncio.run(measure(options.workloads, options.bytes))
    print(json.dumps({**result, "calibration": calibration()}, indent=2))
    return 0 if result["target_met"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

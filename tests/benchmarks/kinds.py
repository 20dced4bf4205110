"""How far each job kind gets in local mode: admitted, started, ready, ended, evicted and restored, run on a worker.

    python -m tests.benchmarks.kinds [--only TEXT] [--json FILE]

Every cell is measured on Kueue's published example of the kind, submitted unchanged, and for MiniClusters on one
like it. Lines are those of the kind's own file in ``worker_agent/jobs``. Exit code 1 where a cell is NO.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from hub.engine.remote_objects import lean
from hub.local.spec import FederationSpec, NodeGroup
from tests import kueue_examples
from tests.kind_table import lines
from tests.kueue_examples import CAPACITY, CONFIG_MAPS, ENDING, FOLDER, SERVING, as_if, kind_of, made, queues
from tests.local_federation import Kubectl, cluster, running

COLUMNS = ("admitted", "started", "ready", "finished", "evicted and restored", "dispatched and back")
CHECK = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "elsewhere"}
STAYS_HERE = "jobs/sample-sparkapplication.yaml"
WRITES_A_TEMPLATE = ("jobs/ray-job-sample.yaml", "jobs/ray-job-autoscaling-sample.yaml", STAYS_HERE)
"""Their start makes a template that the user left out, and a stop empties it: what was written is all there still."""
MINI_CLUSTER = """
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata:
  generateName: flux-
  labels: {kueue.x-k8s.io/queue-name: user-queue}
spec:
  size: 2
  containers: [{image: registry.example/lammps:1, command: lmp, resources: {requests: {cpu: "1"}}}]
"""
PATIENCE_SECONDS = 60.0
TRIES = 3
Documents = list[dict[str, Any]]


def documents(kubectl: Kubectl, *names: str) -> Documents:
    found = json.loads(kubectl("get", *names, "-n", "default", "-o", "json", "--ignore-not-found") or "{}")
    items: Documents = found.get("items", [found] if found else [])
    return items


def until(holds: Callable[[], bool]) -> bool:
    """Whether it came about in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


def workloads(kubectl: Kubectl, condition: str) -> dict[str, bool]:
    """Whether each Workload there is has the condition, by UID."""
    found: dict[str, bool] = {}
    for each in documents(kubectl, "workloads"):
        told = (each.get("status") or {}).get("conditions", ())
        found[each["metadata"]["uid"]] = any((c["type"], c["status"]) == (condition, "True") for c in told)
    return found


def with_quota(kubectl: Kubectl) -> set[str]:
    return {uid for uid, holds in workloads(kubectl, "QuotaReserved").items() if holds}


def dry_run(kubectl: Kubectl, example: str) -> Documents:
    """What the creation of the example's jobs would make. kubectl writes one document after the other."""
    text = kubectl("create", "-f", str(FOLDER / example), "-n", "default", "--dry-run=server", "-o", "json")
    found: Documents = []
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        found += document.get("items", [document])
        text = text[end:]
    return [each for each in found if each["kind"] not in ("Service", "ConfigMap")]


def have(kubectl: Kubectl, condition: str) -> bool:
    told = workloads(kubectl, condition)
    return bool(told) and all(told.values())


def is_started(job: dict[str, Any]) -> bool:
    kind = kind_of(job)
    if job["kind"] == "Pod":
        return (job.get("status") or {}).get("phase") in ("Running", "Succeeded")
    return kueue_examples.is_served(job) if kind.serving else not kind.is_suspended(job)


def ended(kubectl: Kubectl, names: list[str]) -> bool:
    jobs = documents(kubectl, *names)
    return (
        have(kubectl, "Finished")
        if "MiniCluster" in {job["kind"] for job in jobs}
        else all(kueue_examples.ended_well(job) for job in jobs)
    )


def served(kubectl: Kubectl, names: list[str]) -> bool:
    return all(kueue_examples.is_served(job) for job in documents(kubectl, *names))


def life(kubectl: Kubectl, example: str, cells: dict[str, bool | None]) -> None:
    ends = example not in SERVING
    with made(kubectl, example) as names:
        cells["admitted"] = until(lambda: have(kubectl, "Admitted") or have(kubectl, "Finished"))
        cells["started"] = until(lambda: all(map(is_started, documents(kubectl, *names))))
        ready = until(lambda: have(kubectl, "PodsReady") or (not ends and served(kubectl, names)))
        cells["ready"] = ready
        cells["finished"] = until(lambda: ended(kubectl, names)) if ends else None


def eviction(kubectl: Kubectl, example: str, cells: dict[str, bool | None]) -> None:
    """Tried again where the job had ended before it could be evicted."""
    cells["evicted and restored"] = any(evicted(kubectl, example) for _ in range(TRIES))


def evicted(kubectl: Kubectl, example: str) -> bool:
    """Deactivated while it runs; what is suspended is as it was written then, and runs again; other pods go."""
    before = dry_run(kubectl, example)
    with made(kubectl, example) as names:
        started = until(lambda: have(kubectl, "Admitted") and all(map(is_started, documents(kubectl, *names))))
        stopped = with_quota(kubectl)
        for workload in documents(kubectl, "workloads"):
            activate(kubectl, workload, active=False)
        suspended = not kind_of(before[0]).serving and before[0]["kind"] != "Pod"
        if suspended:
            back = until(lambda: restored(before, documents(kubectl, *names), example))
        else:
            back = until(lambda: not (stopped & with_quota(kubectl)))
        for workload in documents(kubectl, "workloads"):
            activate(kubectl, workload, active=True)
        again = before[0]["kind"] == "Pod" or until(lambda: all(map(is_started, documents(kubectl, *names))))
        if before[0]["kind"] == "Pod":
            # Evicted members of a group hold their places for replacements that nobody makes here.
            kubectl("delete", "workloads", "--all", "-n", "default")
        return started and back and again


def activate(kubectl: Kubectl, workload: dict[str, Any], *, active: bool) -> None:
    patch = json.dumps({"spec": {"active": active}})
    name = f"workload/{workload['metadata']['name']}"
    kubectl("patch", name, "-n", "default", "--type=merge", "-p", patch, check=False)


def restored(before: Documents, after: Documents, example: str) -> bool:
    """Suspended, and all else as a dry run of its creation says."""
    for dry, job in zip(before, after, strict=True):
        same = lean(as_if(dry, job)["spec"]) == lean(job["spec"])
        if not kind_of(job).is_suspended(job) or not (same or example in WRITES_A_TEMPLATE):
            return False
    return True


def dispatch(manager: Kubectl, worker: Kubectl, example: str, cells: dict[str, bool | None]) -> None:
    if example == STAYS_HERE:
        cells["dispatched and back"] = None
        return
    ends = example not in SERVING
    with made(manager, example) as names:
        if ends:
            cells["dispatched and back"] = until(lambda: ended(manager, names))
        else:
            cells["dispatched and back"] = until(lambda: have(worker, "Admitted") and is_served_there(worker, names))
    until(lambda: not documents(worker, "workloads"))


def is_served_there(worker: Kubectl, names: list[str]) -> bool:
    """A Deployment is dispatched pod by pod: it is not there itself."""
    there = [name for name in names if not name.startswith("deployment.apps/")]
    return served(worker, there) if there else have(worker, "PodsReady")


@contextmanager
def federation(folder: Path) -> Iterator[tuple[Kubectl, Kubectl, Kubectl]]:
    kueue = "kueue.x-k8s.io/v1beta2"
    check = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": CHECK}
    dispatching = [
        {"apiVersion": kueue, "kind": "AdmissionCheck", "metadata": {"name": "elsewhere"}, "spec": check},
        {
            "apiVersion": kueue,
            "kind": "MultiKueueConfig",
            "metadata": {"name": "elsewhere"},
            "spec": {"clusters": ["worker"]},
        },
    ]
    nodes = NodeGroup(name="node", count=2, capacity=CAPACITY)
    manager, worker, single = cluster("manager"), cluster("worker", nodes), cluster("single", nodes)
    spec = FederationSpec(job_kinds=True, manager=manager, workers=[worker, single])
    with running(spec, folder) as made_:
        found = tuple(Kubectl(made_, name) for name in ("manager", "worker", "single"))
        for kubectl, content in zip(found, ([*dispatching, *queues(["elsewhere"])], queues(), queues()), strict=True):
            kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(content))
            kubectl.wait("clusterqueue/cluster-queue", "condition=Active")
        for example in CONFIG_MAPS:
            found[1]("create", "-f", str(FOLDER / example), "-n", "default")
        yield found  # type: ignore[misc]


def kind_names(example: str) -> str:
    described = [each for each in yaml.safe_load_all((FOLDER / example).read_text()) if each]
    kinds = dict.fromkeys(each["kind"] for each in described if each["kind"] not in ("Service", "ConfigMap"))
    inside = [c["template"]["kind"] for each in described for c in each["spec"].get("components", ())]
    return "+".join(kinds) + (f" of {inside[0]}" if inside else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="Examples whose path contains this.")
    parser.add_argument("--json", type=Path, help="Where to write the table as JSON.")
    asked = parser.parse_args()
    rows, written = [], lines.by_kind()
    with tempfile.TemporaryDirectory() as folder, federation(Path(folder)) as (manager, worker, single):
        own = Path(folder) / "minicluster.yaml"
        own.write_text(MINI_CLUSTER)
        examples = [each for each in (*ENDING, *SERVING, str(own)) if asked.only in each]
        for example in examples:
            cells: dict[str, bool | None] = {}
            life(single, example, cells)
            eviction(single, example, cells)
            dispatch(manager, worker, example, cells)
            kind = kind_names(example)
            count = written[kind.partition(" ")[0]].file
            rows.append({"kind": kind, "example": Path(example).name, "lines": count, **cells})
            shown = (("-" if cells[column] is None else "yes" if cells[column] else "NO") for column in COLUMNS)
            told = "  ".join(f"{column}: {cell}" for column, cell in zip(COLUMNS, shown, strict=True))
            print(f"{kind:32} {Path(example).name:36} {rows[-1]['lines']:4} lines  {told}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2))
    return int(any(row[column] is False for row in rows for column in COLUMNS))


if __name__ == "__main__":
    sys.exit(main())

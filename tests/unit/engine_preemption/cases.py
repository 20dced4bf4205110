"""Worlds for tests of preemption: queues of cpu, workloads that run, and one that comes and wants room."""

from collections.abc import Iterable

from tests.builders import admitted, cluster_queue, flavor, local_queue, namespace, workload
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.engine.policy import DEFAULT, Policy

FAIR = Policy(fair_sharing=True)
LOWER = {"withinClusterQueue": "LowerPriority"}
RECLAIM = {"reclaimWithinCohort": "Any"}


def world(*objects: Document, policy: Policy = DEFAULT) -> EngineWorld:
    """Each ClusterQueue gets a LocalQueue of its own name."""
    names = [o["metadata"]["name"] for o in objects if o["kind"] == "ClusterQueue"]
    made = EngineWorld([namespace(), flavor(), *objects, *(local_queue(name, name) for name in names)], policy)
    made.settle()
    return made


def queue(name: str, cpu: object = 0, cohort: str = "c", **preemption: object) -> Document:
    spec = {"fairSharing": preemption.pop("fairSharing")} if "fairSharing" in preemption else {}
    return cluster_queue(name, cpu=cpu, cohort=cohort, preemption=preemption, **spec)


def running(name: str, where: str, cpu: object = 1, priority: int = 0, since: int = 0, **fields: object) -> Document:
    """``since``: seconds after ten o'clock at which it got its quota."""
    document = admitted(name, cluster_queue=where, queue=where, cpu=cpu, priority=priority, **fields)
    for condition in document["status"]["conditions"]:
        condition["lastTransitionTime"] = f"2026-01-01T10:00:{since:02}Z"
    return document


def coming(where: str, cpu: object = 1, priority: int = 0, name: str = "in", **fields: object) -> Document:
    return workload(name, queue=where, cpu=cpu, priority=priority, **fields)


def victims(made: EngineWorld, *incoming: Document) -> dict[str, str]:
    """Name -> reason of everyone whom one cycle evicts for the newcomers."""
    made.put(*incoming)
    return {step.key.name: step.reason for step in made.cycle().preemptions}


def units(where: str, count: int, prefix: str = "", priority: int = 0) -> Iterable[Document]:
    """So many workloads of one cpu, named by their queue; the first one has run longest."""
    return [running(f"{prefix or where}{i}", where, priority=priority, since=i) for i in range(count)]

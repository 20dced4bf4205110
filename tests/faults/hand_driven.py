"""Workers on which nothing runs: a test writes what their agents and job controllers would, when it likes to."""

import asyncio
from collections import Counter

from tests.faults.manifests import NAMESPACE
from tests.faults.model import MANAGER
from tests.faults.script import WORKERS
from tests.faults.world import STORES
from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.timestamps import rfc3339
from worker_agent.kube.client import PatchType


class Idle:
    """In the place of a job controller."""

    def observe(self, old, new):
        """Nothing starts, and nothing ends."""


async def take_over(world, *workers):
    for worker in workers:
        await world.kill(f"agent-{worker}")
        world.players[worker] = Idle()


def copy_of(world, worker, name="train"):
    """The copy on the worker of a job's Workload, or None."""
    local = world.workload_of(name)
    return local and world.stored(worker, "workloads", Key(NAMESPACE, local["metadata"]["name"]))


async def say(world, worker, *conditions, name="train"):
    """The copy has quota, and these conditions are True of it."""
    now = rfc3339(world.clock.now())
    told = [
        {"type": type_, "status": "True", "reason": type_, "message": "by test", "lastTransitionTime": now}
        for type_ in (names.QUOTA_RESERVED, *conditions)
    ]
    assigned = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}}
    status = {"conditions": told, "admission": {"clusterQueue": "cq", "podSetAssignments": [assigned]}}
    await world.clients[worker].patch(
        WORKLOADS,
        copy_of(world, worker, name)["metadata"]["name"],
        NAMESPACE,
        {"status": status},
        patch_type=PatchType.MERGE,
        subresource="status",
    )


def on_commit(world, cluster, hear):
    """``hear(kind, old, new)`` is told of each write of a Job or a Workload there, in its very moment."""
    server = world.servers[cluster]
    before = server.on_commit

    def told(event):
        before(event)
        if event.store in STORES:
            documents = [stored.document() if stored is not None else None for stored in (event.old, event.new)]
            hear(STORES[event.store], *documents)

    server.on_commit = told


def creations(world):
    """How often each object is created on the workers from now on, by worker, kind and name."""
    counted = Counter()

    def hear(worker, kind, old, new):
        if old is None and new is not None:
            counted[worker, kind, new["metadata"]["name"]] += 1

    for worker in WORKERS:
        on_commit(world, worker, lambda kind, old, new, worker=worker: hear(worker, kind, old, new))
    return counted


def told_of(world, read, name="train"):
    """What ``read`` finds in the manager's Workload of the job from now on: each value once until it changes."""
    found = []

    def hear(kind, old, new):
        if (
            kind == "workloads"
            and new is not None
            and any(owner["name"] == name for owner in new["metadata"].get("ownerReferences", ()))
        ):
            value = read(new)
            if not found or found[-1] != value:
                found.append(value)

    on_commit(world, MANAGER, hear)
    return found


def soon(seconds, act):
    """Starts the coroutine that ``act`` makes after so long."""
    asyncio.get_running_loop().call_later(seconds, lambda: _tasks.add(asyncio.ensure_future(act())))


_tasks = set()
"""Held, as the loop holds no task."""

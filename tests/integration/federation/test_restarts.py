"""Hub and agents end at random moments of a run: every pod index runs to completion once, nothing is left behind."""

import asyncio
import random
from collections import defaultdict

import pytest

from hub.local.simulation.cluster import run_simulation
from hub.local.simulation.shape import ClusterShape, NodeGroup
from tests.integration.federation.world import CLOCK, is_complete, job, running, until
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOBS, NODES, WORKLOADS

JOBS_IN_ALL = 16
RESPITE = 8
"""After so many ends a job must have come to its own: on a busy machine a program may take longer to begin than it is
given before its next end."""


@pytest.mark.embedded
@pytest.mark.parametrize("seed", [1, 2])
async def test_every_pod_runs_once_whatever_is_restarted(seed):
    chance = random.Random(seed)
    ran: dict[str, set[str]] = defaultdict(set)
    async with running(a=8, b=16) as world:
        simulations = [asyncio.create_task(simulate(world, name, ran)) for name in world.workers]
        await world.manager.create(*[training(f"train-{number}", 1 + number % 3) for number in range(JOBS_IN_ALL)])
        done = ends = 0
        while done < JOBS_IN_ALL:
            await asyncio.sleep(chance.uniform(0.1, 1.5))
            await world.crash(chance.choice(["hub", *world.workers]))
            assert await doubled(world) == []
            ends += 1
            before, done = done, await complete(world)
            if ends % RESPITE == 0 and done == before:
                done = await until(lambda before=before: more_than(world, before), "another job ends")
        await until(lambda: nothing_left(world), "the workers are cleaned up")
        for simulation in simulations:
            simulation.cancel()
        await asyncio.gather(*simulations, return_exceptions=True)
    assert {pod: len(uids) for pod, uids in ran.items() if len(uids) > 1} == {}
    assert len(ran) == sum(1 + number % 2 for number in range(JOBS_IN_ALL))


def training(name, cpu):
    number = int(name.removeprefix("train-"))
    document = job(name, cpu=cpu, parallelism=1 + number % 2)
    document["spec"]["completionMode"] = "Indexed"
    document["spec"]["template"]["metadata"] = {"annotations": {"fedhub.dev/run-seconds": "0.3"}}
    return document


async def simulate(world, name, ran):
    cluster = world.workers[name]
    await cluster.client.delete(NODES, "node")
    nodes = NodeGroup("n", world.quota[name] // 8, {"cpu": "8", "memory": "64Gi", "pods": "110"})

    def completed(completion):
        index = completion.pod.rsplit("-", 1)[0]
        ran[index].add(completion.uid)

    await run_simulation(cluster.client, ClusterShape((nodes,)), CLOCK, on_completion=completed)


async def complete(world):
    return sum([await is_complete(world.manager, f"train-{number}") for number in range(JOBS_IN_ALL)])


async def more_than(world, before):
    done = await complete(world)
    return done if done > before else 0


async def doubled(world):
    """Jobs that are unsuspended in more than one cluster."""
    places = defaultdict(list)
    for name, cluster in world.workers.items():
        for found in await cluster.all(JOBS):
            if not value_at(found, "spec.suspend", False):
                places[found["metadata"]["name"]].append(name)
    return [job_name for job_name, where in places.items() if len(where) > 1]


async def nothing_left(world):
    return not any([await cluster.all(JOBS) + await cluster.all(WORKLOADS) for cluster in world.workers.values()])

"""The simulation killed at random moments, on a network that fails: every index still runs to its end exactly once."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from hub.local.simulation.kubelet import Completion
from tests.integration.simulation.world import World, complete
from worker_agent.kube.faults import Fault

pytestmark = pytest.mark.looptime

JOBS = 8
HARMLESS = {
    Fault.DELAY: 0.1,
    Fault.REFUSED: 0.05,
    Fault.LOST_ANSWER: 0.05,
    Fault.CUT: 0.05,
    Fault.CONFLICT: 0.03,
    Fault.GONE: 0.02,
    Fault.TOO_MANY: 0.02,
    Fault.SERVER_ERROR: 0.02,
    Fault.DUPLICATE: 0.05,
}


async def submit(world: World, chance: random.Random) -> None:
    for number in range(JOBS):
        mode: dict[str, Any] = {"completionMode": "Indexed"} if number % 2 else {}
        seconds = str(chance.choice([0, 1, 2, 5]))
        completions = chance.randrange(1, 5)
        await world.create_job(
            f"job-{number}",
            annotations={"fedhub.dev/run-seconds": seconds},
            completions=completions,
            parallelism=chance.randrange(1, completions + 1),
            backoffLimit=0,
            **mode,
        )


async def torment(world: World, chance: random.Random, kills: int) -> None:
    for _ in range(kills):
        world.simulate()
        await asyncio.sleep(chance.random() * 3)
        await world.kill()
        await asyncio.sleep(chance.random())
    world.simulate()


def runs(completions: list[Completion]) -> Counter[tuple[str, int | None, str]]:
    """How often a (Job, index) ran to its end; pods are told again after a restart, so distinct UIDs count."""
    distinct = {completion.uid: completion for completion in completions}
    return Counter((c.job_uid, c.index, c.phase) for c in distinct.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("faults", [{}, HARMLESS], ids=["calm", "faulty"])
async def test_each_index_runs_to_its_end_once(seed: int, faults: dict[Fault, float]):
    chance = random.Random(seed)
    async with World(seed=seed) as world:
        world.faults.plan.chances = faults
        await submit(world, chance)
        await torment(world, chance, kills=8)
        done = [await world.until_job(complete, f"job-{number}") for number in range(JOBS)]
        pods = await world.pods()
    told = runs(world.completions)
    for job in done:
        completions = job["spec"]["completions"]
        assert job["status"]["succeeded"] == completions
        assert "failed" not in job["status"]
        uid = job["metadata"]["uid"]
        mine = {key: count for key, count in told.items() if key[0] == uid}
        if job["spec"].get("completionMode") == "Indexed":
            assert mine == {(uid, index, "Succeeded"): 1 for index in range(completions)}
        else:
            assert mine == {(uid, None, "Succeeded"): completions}
    assert len(pods) == sum(job["spec"]["completions"] for job in done)


@pytest.mark.parametrize("seed", range(3))
async def test_suspended_at_random_a_job_still_counts_right(seed: int):
    chance = random.Random(seed)
    async with World(seed=seed) as world:
        world.faults.plan.chances = HARMLESS
        world.simulate()
        await world.create_job(
            annotations={"fedhub.dev/run-seconds": "3"}, completions=6, parallelism=3, backoffLimit=0
        )
        for _ in range(6):
            await asyncio.sleep(chance.random() * 4)
            await world.patch_job({"spec": {"suspend": chance.random() < 0.5}})
            if chance.random() < 0.5:
                await world.kill()
                world.simulate()
        await world.patch_job({"spec": {"suspend": False}})
        job = await world.until_job(complete)
    assert job["status"]["succeeded"] == 6
    assert "failed" not in job["status"]
    succeeded = [c for c in {c.uid: c for c in world.completions}.values() if c.phase == "Succeeded"]
    assert len(succeeded) == 6

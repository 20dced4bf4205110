"""``python -m tests.integration.evaluation.existing_cluster ADDRESS``: two evaluators in turn on a Ray cluster that is
there already. Ends with 0 where both answer as inline evaluation does, and prints how many nodes answered for each.

A program of its own: Ray ends the process it is in when its cluster goes, and serves one cluster per process.
"""

import asyncio
import sys

import ray

from hub.engine.work_order import Desk, Observe
from hub.evaluation.ray_pool import RayOptions, RayPool
from tests.integration.evaluation.test_evaluators import CLOCK, Known, answered, expected, questions, world
from worker_agent.engine.policy import Policy

CLUSTERS = 3
ACTORS = 2


async def main(address: str) -> int:
    known, desk = Known(), Desk(Policy())
    for event in world(CLUSTERS):
        known.note(event)
        desk.carry_out([Observe(event)], CLOCK.now())
    requests = list(questions(CLUSTERS))
    wanted = expected(desk, requests)
    for turn in ("first", "second"):
        pool = RayPool(Policy(), CLOCK, known.replay, RayOptions(actors=ACTORS, address=address))
        alike = await answered(pool, requests) == wanted
        print("nodes", sum(node["Alive"] for node in ray.nodes()), flush=True)
        await pool.close()
        if not alike:
            print(f"the {turn} evaluator answers otherwise", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))

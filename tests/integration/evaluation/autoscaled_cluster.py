"""``python -m tests.integration.evaluation.autoscaled_cluster ADDRESS``: evaluation on a Ray cluster with room for one
actor of two, which grows by a node when the second one asks for room. Ends with 0 where the answers are those of inline
evaluation and the cluster has grown.

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
    pool = RayPool(Policy(), CLOCK, known.replay, RayOptions(actors=ACTORS, address=address))
    alike = await answered(pool, requests) == expected(desk, requests)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    await pool.close()
    print(f"answers alike: {alike}; nodes: {len(nodes)}", file=sys.stderr)
    return 0 if alike and len(nodes) == ACTORS else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))

"""Evaluation on a Ray cluster that is there already, and stays there."""

import tempfile
from pathlib import Path

import pytest

from hub.engine.work_order import Desk, Observe
from hub.evaluation.ray_pool import RayOptions, RayPool, stop_ray
from tests.integration.evaluation import ray_cluster
from tests.integration.evaluation.test_evaluators import CLOCK, Known, answered, expected, questions, world
from worker_agent.engine.policy import Policy

pytestmark = pytest.mark.timeout(900)  # on a machine that is busy otherwise Ray and each of its nodes take minutes


async def test_an_existing_cluster_answers_alike_and_stays():
    stop_ray()  # another file's
    known, desk = Known(), Desk(Policy())
    # Ray's sockets need a short path.
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder,
        ray_cluster.running(Path(folder), 2) as address,
    ):
        options = RayOptions(actors=2, address=address)
        pool = RayPool(Policy(), CLOCK, known.replay, options)
        for event in world(3):
            known.note(event)
            desk.carry_out([Observe(event)], CLOCK.now())
        requests = list(questions(3))
        assert await answered(pool, requests) == expected(desk, requests)
        await pool.close()
        again = RayPool(Policy(), CLOCK, known.replay, options)
        assert await answered(again, requests) == expected(desk, requests)
        await again.close()

"""Evaluation on a Ray cluster that is there already, and stays there; on one that grows.

The one that grows starts three nodes of Ray's and is tried where FEDHUB_TEST_RAY_AUTOSCALER is set.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.integration.evaluation import autoscaled_cluster, existing_cluster, ray_cluster

pytestmark = pytest.mark.timeout(900)  # on a machine that is busy otherwise Ray and each of its nodes take minutes


async def test_an_existing_cluster_answers_alike_and_stays():
    # Ray's sockets need a short path.
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder,
        ray_cluster.running(Path(folder), 2) as address,
    ):
        await _answers(existing_cluster.__name__, address)


@pytest.mark.skipif(
    not os.environ.get("FEDHUB_TEST_RAY_AUTOSCALER"), reason="heavy: FEDHUB_TEST_RAY_AUTOSCALER is not set"
)
async def test_a_cluster_with_room_for_one_actor_grows_for_the_second_and_answers_alike():
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder,
        ray_cluster.autoscaled(Path(folder), most_workers=1) as address,
    ):
        await _answers(autoscaled_cluster.__name__, address)


async def _answers(program: str, address: str) -> None:
    environment = os.environ | ray_cluster.ENVIRONMENT
    asked = await asyncio.create_subprocess_exec(
        sys.executable, "-m", program, address, env=environment, stderr=asyncio.subprocess.PIPE
    )
    _, told = await asked.communicate()
    assert asked.returncode == 0, told.decode()

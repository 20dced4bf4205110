"""Evaluation on a Ray cluster that is there already, and stays there."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.integration.evaluation import existing_cluster, ray_cluster

pytestmark = pytest.mark.timeout(900)  # on a machine that is busy otherwise Ray and each of its nodes take minutes


async def test_an_existing_cluster_answers_alike_and_stays():
    assert await nodes_that_answered(cpus=2) == [1, 1]


async def test_a_cluster_without_room_grows_by_a_node_per_actor():
    assert await nodes_that_answered(cpus=0, grows_to=existing_cluster.ACTORS) == [3, 3]


async def nodes_that_answered(*, cpus: int, grows_to: int = 0) -> list[int]:
    """Alive nodes when each of two evaluators in turn had answered as inline evaluation does."""
    # Ray's sockets need a short path.
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder,
        ray_cluster.running(Path(folder), cpus, grows_to=grows_to) as address,
    ):
        command = [sys.executable, "-m", existing_cluster.__name__, address]
        environment = os.environ | ray_cluster.ENVIRONMENT
        pipe = asyncio.subprocess.PIPE
        asked = await asyncio.create_subprocess_exec(*command, env=environment, stdout=pipe, stderr=pipe)
        printed, told = await asked.communicate()
        assert asked.returncode == 0, told.decode()
        return [int(line.removeprefix("nodes ")) for line in printed.decode().splitlines() if line.startswith("nodes ")]

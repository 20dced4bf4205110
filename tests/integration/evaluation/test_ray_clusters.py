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
    # Ray's sockets need a short path.
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder,
        ray_cluster.running(Path(folder), 2) as address,
    ):
        command = [sys.executable, "-m", existing_cluster.__name__, address]
        environment = os.environ | ray_cluster.ENVIRONMENT
        asked = await asyncio.create_subprocess_exec(*command, env=environment, stderr=asyncio.subprocess.PIPE)
        _, told = await asked.communicate()
        assert asked.returncode == 0, told.decode()

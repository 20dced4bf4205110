"""What the pool does before its actors can answer."""

import asyncio
import logging

import pytest

from hub.engine import evaluation
from hub.evaluation import ray_pool
from hub.evaluation.ray_pool import RayOptions, RayPool
from worker_agent.engine.policy import Policy
from worker_agent.kube.clock import SystemClock


class ActorWithoutNode:
    """Answers once its node is there, as Ray's handles do."""

    def __init__(self, node: asyncio.Event) -> None:
        self._node = node

    async def work(self, orders: bytes, requests: bytes, now: str) -> bytes:
        await self._node.wait()
        return evaluation.encode_answers([])

    def kill(self) -> None:
        """Nothing runs."""


@pytest.fixture
def node(monkeypatch) -> asyncio.Event:
    node = asyncio.Event()
    monkeypatch.setattr(ray_pool, "start_actors", lambda policy, options: [ActorWithoutNode(node)] * options.actors)
    monkeypatch.setattr(ray_pool, "UNTOLD_SECONDS", 0.01)
    return node


@pytest.fixture
def told(monkeypatch) -> asyncio.Event:
    """Set by the first warning."""
    told = asyncio.Event()
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.set()
    monkeypatch.setattr(ray_pool.log, "handlers", [handler])
    return told


async def test_it_waits_for_nodes_and_says_how_many_actors_have_none(node, told, caplog):
    pool = RayPool(Policy(), SystemClock(), lambda observe: None, RayOptions(actors=2))
    starting = asyncio.create_task(pool.start())
    await told.wait()
    assert "no room yet for 2 of 2 evaluation actors" in caplog.text
    assert not pool.started
    node.set()
    await starting
    assert pool.started


async def test_who_stops_waiting_leaves_no_question_behind(node, told):
    pool = RayPool(Policy(), SystemClock(), lambda observe: None, RayOptions(actors=2))
    before = asyncio.all_tasks()
    starting = asyncio.create_task(pool.start())
    await told.wait()
    starting.cancel()
    await asyncio.wait([starting])
    assert {task for task in asyncio.all_tasks() - before if not task.cancelling()} == set()

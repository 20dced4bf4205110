"""What a program asks an API server about the kinds it looks for, and how often."""

import asyncio

import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.api.resource_type import CLUSTER_QUEUES, COHORTS, JOBS, WORKLOADS
from worker_agent.app import kinds_served
from worker_agent.kube.client import Client
from worker_agent.kube.clock import LoopClock

pytestmark = pytest.mark.looptime

AWAY = (lambda request: ConnectionError("refused"), lambda request: answer(500, status(500, "InternalError")))
GROUPS = {"groups": [{"versions": [{"groupVersion": "apps/v1"}]}]}


def with_kueue(*plurals):
    """A server with that group and these kinds in it."""
    groups = {"groups": [*GROUPS["groups"], {"versions": [{"groupVersion": WORKLOADS.api_version}]}]}
    resources = {"resources": [{"name": plural} for plural in plurals]}
    return lambda request: answer(200, groups if request.path == "/apis" else resources)


def asking(*script):
    transport = ScriptedTransport(*script)
    return transport, Client(transport, LoopClock(clock().now()))


async def waiting(client, *resources):
    """Tasks that wait for these kinds, with what they have been told at once."""
    tasks = [asyncio.create_task(kinds_served.until_served(client, each, client.clock)) for each in resources]
    await asyncio.sleep(0.1)
    return tasks


async def given_up(tasks):
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Distant(ScriptedTransport):
    async def request(self, request):
        await asyncio.sleep(0.01)
        return await super().request(request)


@pytest.mark.parametrize("transport", [ScriptedTransport, Distant])
async def test_many_kinds_that_are_not_there_are_asked_for_in_one_question(transport):
    asked = transport(lambda request: answer(200, GROUPS))
    client = Client(asked, LoopClock(clock().now()))
    tasks = await waiting(client, JOBS, WORKLOADS)
    await asyncio.sleep(10 * kinds_served.FIRST_WAIT)
    assert {request.path for request in asked.requests} == {"/apis"}
    assert len(asked.requests) == 4  # after 0, 1, 3 and 7 seconds
    await given_up(tasks)


async def test_kinds_of_one_group_that_are_there_cost_one_question_after_groups_and_one_after_the_group():
    transport, client = asking(with_kueue("workloads", "cohorts"))
    for task in await waiting(client, WORKLOADS, COHORTS):
        assert task.done()
    assert [request.path for request in transport.requests] == ["/apis", f"/apis/{WORKLOADS.api_version}"]


async def test_who_begins_to_look_later_soon_looks_together_with_the_others():
    transport, client = asking(lambda request: answer(200, GROUPS))
    tasks = await waiting(client, JOBS)
    await asyncio.sleep(400)
    tasks += await waiting(client, WORKLOADS)
    await asyncio.sleep(600)
    before = len(transport.requests)
    await asyncio.sleep(10 * kinds_served.LONGEST_WAIT)
    assert len(transport.requests) - before <= 11
    await given_up(tasks)


async def test_a_kind_that_is_installed_late_is_found_within_two_minutes():
    transport, client = asking(lambda request: answer(200, GROUPS))
    tasks = await waiting(client, JOBS, CLUSTER_QUEUES)
    await asyncio.sleep(1000)
    transport.script[:] = [with_kueue("clusterqueues")]
    await asyncio.sleep(120)
    assert [task.done() for task in tasks] == [False, True]
    await given_up(tasks)


async def test_a_look_right_after_another_asks_nothing_and_a_later_one_does():
    transport, client = asking(with_kueue("workloads"))
    assert [await kinds_served.look(client, each) for each in (WORKLOADS, JOBS, COHORTS)] == [True, False, False]
    assert len(transport.requests) == 2
    await asyncio.sleep(1)
    assert await kinds_served.look(client, WORKLOADS)
    assert len(transport.requests) == 4


@pytest.mark.parametrize("failure", AWAY)
async def test_a_server_that_does_not_answer_says_neither_yes_nor_no(failure):
    _, client = asking(failure)
    assert await kinds_served.look(client, JOBS) is None


async def test_what_is_no_list_says_neither_yes_nor_no():
    _, client = asking(lambda request: answer(200, ["no list"]))
    assert await kinds_served.look(client, JOBS) is None


async def test_who_waits_for_the_answer_to_a_question_looks_again_when_its_asker_is_gone():
    client = Client(Distant(with_kueue("workloads")), LoopClock(clock().now()))
    asker, other = (asyncio.create_task(kinds_served.until_served(client, WORKLOADS, client.clock)) for _ in range(2))
    await asyncio.sleep(0.005)
    asker.cancel()
    await asyncio.wait_for(other, 5)


@pytest.mark.parametrize("failure", AWAY)
async def test_kinds_are_asked_for_again(failure):
    resources = {"resources": [{"name": "jobs"}]}
    _, client = asking(failure, lambda request: answer(200, resources))
    await kinds_served.until_served(client, JOBS, client.clock)

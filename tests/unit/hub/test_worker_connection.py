"""Opening a connection: what a worker is asked before it has answered once, and when contact counts as made."""

import asyncio

import pytest

from hub.clusters.remote_clients import ConnectionFailed
from hub.clusters.worker_connection import TIMED_OUT, ConnectionSettings, WorkerConnection
from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, line, status
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client
from worker_agent.kube.retry import RetryPolicy
from worker_agent.kube.transport import Response

pytestmark = pytest.mark.looptime
BATCH = (KINDS["batch/job"],)
EMPTY = {"kind": "List", "metadata": {"resourceVersion": "7"}, "items": []}
WHOLE = {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}


async def nothing_there():
    yield line("BOOKMARK", WHOLE)
    await asyncio.Event().wait()


class Worker(ScriptedTransport):
    """Has nothing; ``refused`` are plurals that it refuses to list, or ``held`` back until they are let go."""

    def __init__(self, *, refused=(), held=()):
        super().__init__(None)
        self.refused = dict(refused)
        self.held = {plural: asyncio.Event() for plural in held}

    async def request(self, request):
        self.requests.append(request)
        plural = request.path.rpartition("/")[2]
        query = dict(request.query)
        if query.get("resourceVersion"):
            await asyncio.Event().wait()
        if plural in self.held:
            await self.held[plural].wait()
        failure = self.refused.get(plural)
        if isinstance(failure, Exception):
            raise failure
        if failure is not None:
            return failure()
        return Response(200, {}, nothing_there()) if query.get("watch") else answer(200, EMPTY)

    @property
    def listed(self):
        asked = [request for request in self.requests if not dict(request.query).get("resourceVersion")]
        return {request.path.rpartition("/")[2] for request in asked}


def connection(worker):
    client = Client(worker, clock(), retry_policy=RetryPolicy(attempts=1))
    return WorkerConnection("w1", client, ConnectionSettings("origin", BATCH), lambda: None)


def absent():
    return answer(404, status(404, "NotFound"))


async def opening(link, patience=60.0):
    try:
        await link.open(patience)
        return ""
    except ConnectionFailed as failure:
        return str(failure)
    finally:
        await link.close()


@pytest.mark.parametrize("failure", [ConnectionError("refused"), lambda: answer(500, status(500, "InternalError"))])
async def test_a_worker_that_does_not_answer_is_asked_for_one_list(failure):
    worker = Worker(refused={"workloads": failure})
    assert (await opening(connection(worker))).startswith("watching workloads: ")
    assert worker.listed == {"workloads"}


async def test_all_else_is_asked_for_once_the_workloads_are_there():
    worker = Worker(held=["workloads"])
    link = connection(worker)
    task = asyncio.create_task(opening(link))
    await asyncio.sleep(5)
    assert worker.listed == {"workloads"}
    worker.held["workloads"].set()
    assert await task == ""
    assert worker.listed == {resource.plural for resource, _ in link.watches.all()}


@pytest.mark.parametrize("plural", ["workloads", "jobs", "clusterqueues"])
async def test_what_does_not_come_in_time_ends_the_attempt(plural):
    assert await opening(connection(Worker(held=[plural])), patience=20.0) == TIMED_OUT


async def test_kinds_that_are_not_served_and_knowledge_that_is_not_allowed_do_not_hold_it_up():
    refused = {"jobs": absent, "topologies": lambda: answer(403, status(403, "Forbidden"))}
    assert await opening(connection(Worker(refused=refused))) == ""


async def test_jobs_that_cannot_be_read_end_it():
    refused = {"jobs": lambda: answer(403, status(403, "Forbidden", "no jobs"))}
    assert await opening(connection(Worker(refused=refused))) == "watching jobs: no jobs"

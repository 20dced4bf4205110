"""An agent started while its API server is started again waits for it instead of ending."""

import asyncio
import json

import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.api.resource_type import JOBS, WORKLOADS
from worker_agent.app import configuration, kinds_served
from worker_agent.app.webhook_service import WebhookService
from worker_agent.kube.client import Client
from worker_agent.settings import AgentSettings
from worker_agent.webhooks.hooks import HookTable

AWAY = (lambda request: ConnectionError("refused"), lambda request: answer(500, status(500, "InternalError")))


def served(request):
    """Nothing is there yet, and everything may be made."""
    return answer(404, status(404, "NotFound")) if request.method == "GET" else answer(201, json.loads(request.body))


@pytest.mark.parametrize("failure", AWAY)
async def test_webhooks_wait_for_the_server(failure):
    settings = AgentSettings.model_validate({"webhook": {"host": "127.0.0.1", "port": 0, "url": "https://127.0.0.1:0"}})
    transport = ScriptedTransport(failure, served)
    service = WebhookService(configuration.resolve(settings), Client(transport, clock()), clock(), HookTable({}, ()))
    await service.serve()
    await service.admit()
    assert service.port
    await service.stop()


class Distant(ScriptedTransport):
    async def request(self, request):
        await asyncio.sleep(0.01)
        return await super().request(request)


@pytest.mark.looptime
async def test_many_kinds_that_are_not_there_are_asked_for_in_one_question():
    groups = {"groups": [{"versions": [{"groupVersion": "apps/v1"}]}]}
    transport = Distant(lambda request: answer(200, groups))
    client = Client(transport, clock())
    waiting = [asyncio.create_task(kinds_served.until_served(client, each, client.clock)) for each in (JOBS, WORKLOADS)]
    await asyncio.sleep(10 * kinds_served.FIRST_WAIT)
    assert {request.path for request in transport.requests} == {"/apis"}
    assert len(transport.requests) == 4  # after 0, 1, 3 and 7 seconds
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("failure", AWAY)
async def test_kinds_are_asked_for_again(failure):
    resources = {"resources": [{"name": "jobs"}]}
    client = Client(ScriptedTransport(failure, lambda request: answer(200, resources)), clock())
    await kinds_served.until_served(client, JOBS, client.clock)

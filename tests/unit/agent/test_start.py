"""An agent started while its API server is started again waits for it instead of ending."""

import json

import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.app import configuration
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

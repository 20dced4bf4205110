"""Metrics over HTTPS, for those whom the API server knows and whose roles let them."""

import re
import ssl

import aiohttp
import msgspec
import pytest
from prometheus_client.exposition import generate_latest

from tests import cluster_choice
from tests.integration.agent.world import world
from worker_agent.api.resource_type import ResourceType
from worker_agent.app.metrics_server import MetricsServer
from worker_agent.kube.transport import Request
from worker_agent.settings import AgentSettings

ACCOUNTS = ResourceType("", "v1", "ServiceAccount", "serviceaccounts")
ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", False)


@pytest.fixture
async def metrics(tmp_path):
    async with world(tmp_path) as cluster:
        agent = await cluster.start_agent()
        settings = AgentSettings(metrics={"bind_address": "127.0.0.1:0"})
        server = MetricsServer(settings, agent.metrics.registry, agent.client)
        await server.start()
        try:
            yield Scraper(cluster, server.port)
        finally:
            await server.stop()
            await cluster.stop_agent()


class Scraper:
    def __init__(self, cluster, port):
        self.cluster = cluster
        self.port = port

    async def scrape(self, token="", scheme="https"):
        """Status and text."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting)) as session,
            session.get(f"{scheme}://127.0.0.1:{self.port}/metrics", headers=headers) as response,
        ):
            return response.status, await response.text()

    async def token(self, name):
        """A service account's."""
        await self.cluster.create(ACCOUNTS, _object(ACCOUNTS, name, namespace="default"))
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        headers = {"content-type": "application/json"}
        answer = await self.cluster.user.raw(Request("POST", path, headers=headers, body=msgspec.json.encode(request)))
        return msgspec.json.decode(answer)["status"]["token"]

    async def may_scrape(self, name):
        rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
        await self.cluster.create(ROLES, {**_object(ROLES, "metrics-reader"), "rules": rules})
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics-reader"}
        await self.cluster.create(BINDINGS, {**_object(BINDINGS, name), "subjects": subjects, "roleRef": role})


def _object(resource, name, **metadata):
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **metadata}}


async def test_without_a_token_nothing_is_told(metrics):
    assert await metrics.scrape() == (401, "Unauthorized\n")
    assert await metrics.scrape("nonsense") == (401, "Unauthorized\n")


async def test_nothing_is_told_over_plain_http(metrics):
    with pytest.raises((aiohttp.ClientError, ConnectionError)):
        await metrics.scrape(scheme="http")


async def test_a_service_account_scrapes_once_a_role_lets_it(metrics):
    """Embedded servers issue no tokens."""
    if cluster_choice.chosen() == cluster_choice.EMBEDDED:
        pytest.skip("needs a real API server: embedded ones issue no tokens of service accounts")
    curious, prometheus = await metrics.token("curious"), await metrics.token("prometheus")
    await metrics.may_scrape("prometheus")
    assert await metrics.scrape(curious) == (
        403,
        "Authorization denied for user system:serviceaccount:default:curious\n",
    )
    status, text = await metrics.scrape(prometheus)
    assert status == 200
    assert "kueue_build_info" in text


TOLD = (
    r'controller_runtime_max_concurrent_reconciles\{controller="workload"\} 10\.0',
    r'controller_runtime_reconcile_total\{controller="clusterqueue",result="success"\}',
    r'workqueue_depth\{controller="batch/job",name="batch/job"\}',
    r'rest_client_requests_total\{code="200",host="[^"]*",method="GET"\} [1-9]',
)


async def test_a_running_agent_tells_of_its_controllers_and_requests(tmp_path):
    async with world(tmp_path) as cluster:
        agent = await cluster.start_agent()

        async def missing_none():
            text = generate_latest(agent.metrics.registry).decode()
            return all(re.search(pattern, text) for pattern in TOLD)

        await cluster.until(missing_none, "all series are there")
        await cluster.stop_agent()

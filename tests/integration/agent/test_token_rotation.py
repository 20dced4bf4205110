"""A service account's token is replaced in its file and the old one revoked: the agent goes on and nothing fails."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests import cluster_choice
from tests.integration.agent.world import World, world
from worker_agent.api.document import Document
from worker_agent.api.resource_type import SECRETS, ResourceType
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import ApiError
from worker_agent.kube.kubeconfig import ClusterConfig
from worker_agent.kube.transport import Request

ACCOUNTS = ResourceType("", "v1", "ServiceAccount", "serviceaccounts")
BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", False)
ACCOUNT, NAMESPACE = "rotating", "default"
SHORTEST_SECONDS = 600
"""The shortest life that a TokenRequest is given."""
UNAUTHORIZED = 401


def _object(resource: ResourceType, name: str, **more: object) -> Document:
    namespace = {"namespace": NAMESPACE} if resource.namespaced else {}
    metadata = {"name": name, **namespace}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **more}


class Tokens:
    """Of one account that may do everything. Each is bound to a Secret of its own and ends with it."""

    def __init__(self, cluster: World, file: Path) -> None:
        self._user = cluster.user
        self._administrator: ClusterConfig = kubeconfig.load(msgspec.json.encode(cluster.server.server.kubeconfig))
        self._file = file

    async def prepare(self) -> None:
        await self._user.create(ACCOUNTS, _object(ACCOUNTS, ACCOUNT), NAMESPACE)
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        await self._user.create(BINDINGS, _object(BINDINGS, ACCOUNT, subjects=[subject], roleRef=role))

    async def write(self, bound_to: str) -> str:
        """A new token stands in the file, in place of the one before."""
        secret = msgspec.json.decode(await self._user.create(SECRETS, _object(SECRETS, bound_to), NAMESPACE))
        bound = {"apiVersion": "v1", "kind": "Secret", "name": bound_to, "uid": secret["metadata"]["uid"]}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": SHORTEST_SECONDS, "boundObjectRef": bound},
        }
        made = await self._user.create(ACCOUNTS, request, NAMESPACE, name=ACCOUNT, subresource="token")
        token: str = msgspec.json.decode(made)["status"]["token"]
        written = self._file.with_suffix(".new")
        written.write_text(token)
        written.replace(self._file)
        return token

    async def revoke(self, bound_to: str) -> None:
        await self._user.delete(SECRETS, bound_to, NAMESPACE)

    def config(self, token: str = "") -> ClusterConfig:
        """Without a token: with the one in the file."""
        file = "" if token else str(self._file)
        return replace(self._administrator, client_certificate=None, client_key=None, token=token, token_file=file)

    async def is_refused(self, token: str) -> bool:
        transport = kubernetes_transport.connect(self.config(token))
        try:
            await Client(transport, SystemClock()).raw(Request("GET", "/apis"))
        except ApiError as error:
            return error.status == UNAUTHORIZED
        finally:
            await transport.close()
        return False


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[World]:
    if cluster_choice.chosen() == cluster_choice.EMBEDDED:
        pytest.skip("needs a real API server: embedded ones issue no tokens of service accounts")
    async with world(tmp_path) as made:
        yield made


@pytest.fixture
async def tokens(cluster: World, tmp_path: Path) -> AsyncIterator[Tokens]:
    """The agent is to connect with the token in the file."""
    made = Tokens(cluster, tmp_path / "token")
    await made.prepare()
    transport = kubernetes_transport.connect(made.config())
    cluster.connected = lambda: cluster.server.noting(transport)  # type: ignore[method-assign]
    yield made
    await cluster.stop_agent()
    await transport.close()


async def test_no_write_fails_when_the_token_is_replaced_and_revoked(cluster: World, tokens: Tokens) -> None:
    first = await tokens.write("first")
    agent = await cluster.start_agent()
    await cluster.queue()
    await cluster.submit("before", cpu="1")
    await cluster.started("before")

    await tokens.write("second")
    await tokens.revoke("first")
    await cluster.until(lambda: tokens.is_refused(first), "the old token is refused")
    writes = agent.client.writes.total()
    await cluster.submit("after", cpu="1")
    await cluster.started("after")

    assert agent.client.writes.total() > writes
    requests = agent.client.statistics.requests
    assert not [asked for asked in requests if asked[1] == UNAUTHORIZED]
    assert not [method for method, status in requests if method != "GET" and status == 0], "a write had no answer"

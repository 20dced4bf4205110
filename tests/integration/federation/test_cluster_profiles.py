"""Workers known by a ClusterProfile: a credential plugin of the hub's settings logs in."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hub.clusters.cluster_profile import PluginProvider
from hub.clusters.credentials import CLUSTER_PROFILES, Credential
from tests.integration.federation.test_cluster_administration import active
from tests.integration.federation.world import API, SYSTEM, Federation, job, running, runs_on, until
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS, MULTIKUEUE_CLUSTERS
from worker_agent.kube.errors import NotFound
from worker_agent.kube.exec_plugin import ExecPlugin
from worker_agent.kube.exec_transport import ExecTransport
from worker_agent.kube.kubeconfig import ClusterConfig
from worker_agent.kube.transport import Request, Response, Transport

pytestmark = pytest.mark.embedded  # definitions stay on a real server, whose tests share it

V1 = "client.authentication.k8s.io/v1"
DEFINITION: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusterprofiles.multicluster.x-k8s.io"},
    "spec": {
        "group": "multicluster.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "ClusterProfile", "plural": "clusterprofiles", "listKind": "ClusterProfileList"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}


class Guarded:
    """A worker's door: only the token of the day gets in. ``tokens`` are those that came."""

    def __init__(self, inner: Transport, valid: Callable[[], str]) -> None:
        self.inner = inner
        self.valid = valid
        self.tokens: set[str] = set()

    async def request(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.tokens.add(token)
        if token == self.valid():
            return await self.inner.request(request)
        return Response(401, {}, _refusal())

    async def close(self) -> None:
        await self.inner.close()


async def _refusal() -> Any:
    yield json.dumps({"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}).encode()


class Login:
    """A plugin that prints what stands in a file, and the way it leads to the worker."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "token"
        script = (
            "import json, os, sys; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
            "word = open(sys.argv[1]).read(); token = info['spec']['cluster']['config']['name'] + '-' + word;"
            "print(json.dumps(info | {'status': {'token': token}}))"
        )
        plugin = ExecPlugin(sys.executable, V1, ("-c", script, str(self.file)))
        self.providers = {"cloud": PluginProvider("cloud", plugin, tells_cluster=True)}
        self.doors: dict[str, Guarded] = {}

    def transport(self, world: Federation, valid: Callable[[], str]) -> Callable[[Credential], Transport]:
        def connect(config: ClusterConfig) -> Transport:
            name = config.server.removeprefix("https://").removesuffix(".example")
            return self.doors.setdefault(name, Guarded(world.workers[name].switch, lambda: f"{name}-{valid()}"))

        def made(credential: Credential) -> Transport:
            settings = credential.settings
            assert settings is not None
            assert settings.exec_plugin is not None
            return ExecTransport(ClusterConfig(settings.host), settings.exec_plugin, connect=connect)

        return made


async def profile(world: Federation, name: str) -> None:
    """The worker's MultiKueueCluster by a ClusterProfile instead of its kubeconfig."""
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"name": name}}
    cluster = {"server": f"https://{name}.example", "extensions": [extension]}
    document = {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": SYSTEM},
        "status": {"accessProviders": [{"name": "cloud", "cluster": cluster}]},
    }
    await world.manager.client.create(CLUSTER_PROFILES, document, SYSTEM)


async def by_profile(world: Federation) -> None:
    for name in world.workers:
        await world.manager.client.delete(MULTIKUEUE_CLUSTERS, name)
        source = {"clusterProfileRef": {"name": name}}
        await world.manager.create(
            {
                "apiVersion": API,
                "kind": "MultiKueueCluster",
                "metadata": {"name": name},
                "spec": {"clusterSource": source},
            }
        )


async def told(world: Federation, name: str) -> tuple[str, str]:
    found = await world.manager.get(MULTIKUEUE_CLUSTERS, name)
    stands = [c for c in value_at(found, "status.conditions", []) if c["type"] == "Active"]
    return (stands[0]["reason"], stands[0]["message"]) if stands else ("", "")


async def until_told(world: Federation, reason: str, message: str) -> None:
    async def reached() -> bool:
        found = await told(world, "east")
        return found[0] == reason and message in found[1]

    await until(reached, f"the cluster says {reason}: {message}")


async def test_jobs_run_on_a_worker_by_a_plugin_whose_token_changes(tmp_path):
    login, valid = Login(tmp_path), ["monday"]
    login.file.write_text("monday")
    async with running(start_hub=False, east=4) as world:
        await by_profile(world)
        made = login.transport(world, lambda: valid[0])
        world._transport = made  # type: ignore[method-assign]
        world.start_hub(profiles_enabled=True, access_providers=login.providers)
        # Neither the definition nor the profile is there yet.
        await until_told(world, "BadClusterProfile", 'clusterprofiles.multicluster.x-k8s.io "east" not found')
        await world.manager.client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION)
        await until(lambda: created(world, "east"), "the profile is accepted")
        await until(lambda: active(world, "east"), "east is Active")
        await world.manager.create(job("first"))
        await until(lambda: runs_on(world, "first"), "the first job runs")
        valid[0] = "tuesday"
        login.file.write_text("tuesday")
        await world.manager.create(job("second"))
        await until(lambda: runs_on(world, "second"), "the second job runs")
        assert login.doors["east"].tokens == {"east-monday", "east-tuesday"}


async def created(world: Federation, name: str) -> bool:
    try:
        await profile(world, name)
    except NotFound:
        return False
    return True


async def test_a_plugin_that_fails_is_told_without_what_it_printed(tmp_path):
    login = Login(tmp_path)
    async with running(start_hub=False, east=4) as world:
        await world.manager.client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION)
        await until(lambda: created(world, "east"), "the profile is accepted")
        await by_profile(world)
        world._transport = login.transport(world, lambda: "x")  # type: ignore[method-assign]
        world.start_hub(profiles_enabled=True, access_providers=login.providers)
        await until_told(world, "ClientConnectionFailed", f"exec: executable {sys.executable} failed with exit code 1")


async def test_without_the_gate_the_cluster_says_so(tmp_path):
    async with running(start_hub=False, east=4) as world:
        await by_profile(world)
        world.start_hub()
        await until_told(
            world, "MultiKueueClusterProfileFeatureDisabled", "MultiKueueClusterProfile feature gate is disabled"
        )

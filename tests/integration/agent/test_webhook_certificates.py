"""Webhooks of two replicas behind one address: certificates and CA change under load, and what others overwrite comes
back."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
import pytest

from tests import cluster_choice
from tests.balancer import Balancer
from tests.integration.agent.world import World, world
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    JOBS,
    LEASES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    SECRETS,
    VALIDATING_WEBHOOKS,
    ResourceType,
)
from worker_agent.app import configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube import verbs
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import AlreadyExists, ApiError, NotFound
from worker_agent.kube.retry import RetryPolicy
from worker_agent.kube.transport import Request, Response, Transport
from worker_agent.kube.verbs import Target
from worker_agent.settings import AgentSettings
from worker_agent.webhooks import certificates, definitions
from worker_agent.webhooks.certificates import Lifetimes

NAMES = {
    MUTATING_WEBHOOKS: "kueue-mutating-webhook-configuration",
    VALIDATING_WEBHOOKS: "kueue-validating-webhook-configuration",
}
SECRET = "kueue-webhook-server-cert"
SYSTEM = "kueue-system"
READ_ONCE = (*definitions.NAMES, *NAMES.values())
STEP_SECONDS = 8 if cluster_choice.chosen() == cluster_choice.EMBEDDED else 20
"""Within it everybody hears of a new CA: a real API server on a busy machine takes its time."""
ROTATIONS = 1
USERS = 8
REQUESTS = 50
PATIENCE = 240.0


def lifetimes() -> Lifetimes:
    """A new CA every other step."""
    step = timedelta(seconds=STEP_SECONDS)
    return Lifetimes(10 * step, 9 * step, step)


@contextlib.asynccontextmanager
async def replicas(cluster: World, count: int, **settings: object) -> AsyncIterator[Balancer]:
    """Agents of which one leads; all answer webhooks."""
    balancer = Balancer(in_turn=True)
    await balancer.start()
    webhook = {"port": 0, "host": "127.0.0.1", "url": f"https://127.0.0.1:{balancer.port}"}
    stop, running = asyncio.Event(), []
    for number in range(count):
        wanted = AgentSettings(webhook=webhook, **settings)
        surroundings = Surroundings(
            cluster.connected(), SystemClock(), identity=f"replica-{number}", certificate_lifetimes=lifetimes()
        )
        agent = Agent(configuration.resolve(wanted), surroundings)
        running.append(asyncio.create_task(agent.run(stop)))
        serving = asyncio.create_task(_serves(agent, balancer))
        await asyncio.wait([serving, running[-1]], return_when=asyncio.FIRST_COMPLETED)
        await agent.ready.wait()
    try:
        yield balancer
    finally:
        stop.set()
        await asyncio.gather(*running)
        await balancer.stop()


async def _serves(agent: Agent, balancer: Balancer) -> None:
    assert agent.webhooks is not None

    async def listens() -> bool:
        return bool(agent.webhooks and agent.webhooks.port)

    await until(listens, "webhooks listen")
    balancer.ports.append(agent.webhooks.port)


def attempt(namespace: str = "default") -> Request:
    """A Job like any, of which nothing stays."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    metadata = {"generateName": "j-", "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "user-queue"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    made = verbs.create(Target(JOBS, namespace), job, "user")
    return Request(made.method, made.path, (*made.query, ("dryRun", "All")), made.headers, made.body)


@dataclass
class Load:
    """Users who create Jobs without a pause, and count what went wrong."""

    client: Client
    defaulted: int = 0
    failures: list[str] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            try:
                made = msgspec.json.decode(await self.client.raw(attempt()))
                self.defaulted += made["spec"]["suspend"] is True
            except (ApiError, ConnectionError) as error:
                self.failures.append(str(error))
            await asyncio.sleep(0.02)


async def ca_of(cluster: World) -> str:
    try:
        secret = await cluster.get(SECRETS, SECRET, SYSTEM)
    except NotFound:
        return ""
    return str(secret["data"]["ca.crt"])


async def bundles(cluster: World) -> set[str]:
    """The CA bundles that stand in both configurations."""
    found = [await cluster.get(resource, name) for resource, name in NAMES.items()]
    return {hook["clientConfig"].get("caBundle", "") for document in found for hook in document["webhooks"]}


async def until(condition: object, what: str) -> None:
    clock = SystemClock()
    started = clock.monotonic()
    while not await condition():
        assert clock.monotonic() - started < PATIENCE, f"not within {PATIENCE:g} s: {what}"
        await asyncio.sleep(0.1)


@pytest.mark.timeout(600)
async def test_no_request_fails_while_certificates_and_ca_change(tmp_path):
    async with world(tmp_path) as cluster, replicas(cluster, 2) as balancer:
        impatient = Client(cluster.server.transport, SystemClock(), retry_policy=RetryPolicy(attempts=1))
        load = Load(impatient)
        users = [asyncio.create_task(load.run()) for _ in range(USERS)]
        seen, most_trusted = {await ca_of(cluster)}, 0

        async def changed() -> bool:
            nonlocal most_trusted
            seen.add(await ca_of(cluster))
            for bundle in await bundles(cluster):
                most_trusted = max(most_trusted, base64.b64decode(bundle).count(b"BEGIN CERTIFICATE"))
            return len(seen) > ROTATIONS and load.defaulted > REQUESTS

        await until(changed, f"{ROTATIONS} new CAs, {REQUESTS} requests")
        for user in users:
            user.cancel()
        await asyncio.gather(*users, return_exceptions=True)
        assert len(balancer.ports) == 2
        assert load.failures == []
        assert most_trusted >= 2


@pytest.mark.parametrize("resource", list(NAMES), ids=lambda resource: resource.kind)
async def test_an_overwritten_ca_is_put_back(tmp_path, resource: ResourceType):
    async with world(tmp_path) as cluster, replicas(cluster, 1):
        other = certificates.create(["localhost"], SystemClock().now()).ca_certificate
        found = await cluster.get(resource, NAMES[resource])
        for hook in found["webhooks"]:
            hook["clientConfig"]["caBundle"] = base64.b64encode(other).decode()
        await cluster.user.update(resource, found)

        async def restored() -> bool:
            return base64.b64encode(other).decode() not in await bundles(cluster)

        await until(restored, "the CA in the configuration")


async def test_a_deleted_configuration_comes_back(tmp_path):
    async with world(tmp_path) as cluster, replicas(cluster, 1):
        await cluster.user.delete(MUTATING_WEBHOOKS, NAMES[MUTATING_WEBHOOKS])

        async def there() -> bool:
            with contextlib.suppress(NotFound):
                return bool((await cluster.get(MUTATING_WEBHOOKS, NAMES[MUTATING_WEBHOOKS]))["webhooks"])
            return False

        await until(there, "the configuration")


class Counted:
    """A Transport that keeps what it has carried."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.reads: list[str] = []

    async def request(self, request: Request) -> Response:
        if request.method == "GET":
            self.reads.append(request.path)
        return await self._transport.request(request)

    async def close(self) -> None:
        await self._transport.close()


async def test_what_the_watches_show_to_be_right_is_not_read_again(tmp_path, monkeypatch):
    async with world(tmp_path) as cluster:
        counted = Counted(cluster.connected())
        monkeypatch.setattr(cluster, "connected", lambda: counted)
        async with replicas(cluster, 1):
            looks = 0
            for number in range(4):
                if number == 2:  # whatever the start has brought about has been seen by now
                    counted.reads.clear()
                looks = sum(path.endswith(f"/secrets/{SECRET}") for path in counted.reads)
                body = {"metadata": {"annotations": {"touched": str(number)}}}
                await cluster.patch(SECRETS, SECRET, SYSTEM, body)

                async def looked(before: int = looks) -> bool:
                    return sum(path.endswith(f"/secrets/{SECRET}") for path in counted.reads) > before

                await until(looked, "a look at the certificates")
        assert not [path for path in counted.reads if path.endswith(READ_ONCE)]


def pod(namespace: str) -> Document:
    metadata = {"name": "p", "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "user-queue"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def test_program_that_is_down_never_holds_system_pods_and_there_is_a_way_out(tmp_path):
    frameworks = {"integrations": {"frameworks": ["batch/job", "pod"]}}
    async with world(tmp_path) as cluster:
        async with replicas(cluster, 1, **frameworks):
            pass
        held = Client(cluster.server.transport, SystemClock(), retry_policy=RetryPolicy(attempts=1))
        for namespace in ("kube-system", SYSTEM):
            await held.create(PODS, pod(namespace), namespace)
            await held.raw(attempt(namespace))
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
        await held.create(LEASES, lease, "default")
        with contextlib.suppress(AlreadyExists):
            await held.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        for request in (held.create(PODS, pod("default"), "default"), held.raw(attempt())):
            with pytest.raises(ApiError, match=r"failed calling webhook|failed to call webhook"):
                await request
        for resource, name in NAMES.items():  # the README's way out
            await held.delete(resource, name)

        async def open_again() -> bool:
            with contextlib.suppress(ApiError):
                await held.raw(attempt())
                return True
            return False

        await until(open_again, "Jobs can be created again")
        await held.create(PODS, pod("default"), "default")

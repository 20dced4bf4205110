"""Users of the manager read pods, events and logs of their jobs in workers: one that dialled, one with a kubeconfig.

The manager is a server with its own front proxy, as a user meets it; who may do what is told by the test in its place,
for embedded servers refuse nobody.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from hub.app.configuration import ViewService
from hub.app.job_following import JobOnManager, NoSuchJob, NothingRuns
from hub.app.remote_pods import LogQuery
from hub.engine import drain
from hub.local.apiserver import serve
from hub.local.apiserver.identity import member
from hub.local.apiserver.serve import RunningServer, ServerConfig
from tests import api_servers
from tests.integration.federation.world import CLOCK, Cluster, federation, job, runs_on, until, workload_of
from tests.integration.tunnel.world import DialledFederation
from worker_agent.aggregated.access import REVIEWS
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod_workload import CORE_EVENTS
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS, PODS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import Forbidden, NotFound
from worker_agent.kube.transport import Request, Response, Transport

pytestmark = pytest.mark.embedded  # real control planes without nodes have no logs; tests/integration/local reads there

ALLOWED = {"alice"}


@dataclass
class Reviewing:
    """The manager's API server, but that access reviews are answered as ``ALLOWED`` says; they are kept."""

    inner: Transport
    reviews: list[Document] = field(default_factory=list)

    async def request(self, request: Request) -> Response:
        response = await self.inner.request(request)
        if request.path != REVIEWS.path():
            return response
        answer = msgspec.json.decode(await response.read())
        self.reviews.append(answer["spec"])
        answer["status"] = {"allowed": answer["spec"]["user"] in ALLOWED}
        return Response(response.status, response.headers, _whole(msgspec.json.encode(answer)))

    async def close(self) -> None:
        await self.inner.close()


async def _whole(body: bytes) -> AsyncIterator[bytes]:
    yield body


class Views(DialledFederation):
    """``alice`` may read pods, ``eve`` may not."""

    def as_user(self, name: str) -> JobOnManager:
        server = self.manager.server
        assert isinstance(server, RunningServer)
        return JobOnManager(Client(server.transport_as(member(name, ("team-a",))), CLOCK))

    async def running(self, name: str, worker: str) -> None:
        """A job that runs in that worker, with a pod that has begun to write."""
        await self.manager.create(job(name))
        await until(lambda: runs_on(self, name), f"{name} runs")
        assert await runs_on(self, name) == worker
        workload = await workload_of(self, name)
        assert workload is not None
        await pod(self.workers[worker], f"{name}-0", workload["metadata"]["name"])


async def pod(cluster: Cluster, name: str, workload: str = "") -> None:
    """What a Job controller and a kubelet make of a started template."""
    metadata: Document = {"name": name, "namespace": "ns", "labels": {"kueue.x-k8s.io/podset": "main"}}
    if workload:
        metadata["annotations"] = {"kueue.x-k8s.io/workload": workload}
    spec = {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}
    await cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    started = CLOCK.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"name": "c", "image": "i", "ready": True, "state": {"running": {"startedAt": started}}}
    await cluster.patch(PODS, name, {"status": {"phase": "Running", "containerStatuses": [status]}}, "status")


async def ended(cluster: Cluster, name: str) -> None:
    now = CLOCK.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    state = {"running": None, "terminated": {"startedAt": now, "finishedAt": now, "exitCode": 0}}
    found = await cluster.get(PODS, name)
    assert found is not None
    state["terminated"]["startedAt"] = found["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    statuses = [{**found["status"]["containerStatuses"][0], "state": {"terminated": state["terminated"]}}]
    await cluster.patch(PODS, name, {"status": {"phase": "Succeeded", "containerStatuses": statuses}}, "status")


@contextlib.asynccontextmanager
async def views(folder: Path) -> AsyncIterator[Views]:
    """East dialled in; west has a kubeconfig. A job of two cpus fits nowhere but in west."""
    manager = await serve.start(ServerConfig(data_dir=folder, crds=list(crds.documents())))
    try:
        async with api_servers.in_memory(2) as workers:
            world = Views([manager, *workers], {"east": 4, "west": 2})
            world.manager.switch.inner = world.reviews = Reviewing(manager.transport)  # type: ignore[attr-defined]
            await world.install()
            await world.manager.create(*federation("east", "west")[4:])
            try:
                world.start(views=ViewService("127.0.0.1", 0, external_host="localhost"))
                for name in ("east", "west"):
                    world.start_worker(name)
                await world.join("east")
                assert world.hub is not None
                assert world.hub.views is not None
                await until(world.hub.views.serving.is_set, "the hub serves job views")
                for name in ("east", "west"):
                    await until(lambda name=name: world.is_active(name), f"{name} is Active")
                await until(lambda: _registered(world), "the API server reaches the hub")
                yield world
            finally:
                await world.stop_all()
    finally:
        await manager.stop()


async def _registered(world: Views) -> bool:
    path = "/apis/remote.fedhub.dev/v1alpha1"
    response = await world.manager.server.transport.request(Request("GET", path))
    await response.read()
    return response.status == 200


async def text(following: JobOnManager, name: str, **query: object) -> str:
    (found,) = await following.pods(await following.sights("job", Key("ns", name)))
    stream = await found.source.log(found.workload, found.name, LogQuery(**query))  # type: ignore[arg-type]
    return (await stream.read()).decode()


@pytest.mark.parametrize("worker", ["east", "west"])
async def test_pods_logs_and_events_of_a_job_in_a_worker(tmp_path: Path, worker: str):
    async with views(tmp_path) as world:
        await cordon(world, other_than=worker)
        await world.running("train", worker)
        await pod(world.workers[worker], "somebody-elses")
        alice = world.as_user("alice")
        sights = await alice.sights("job", Key("ns", "train"))
        assert [(each.cluster, each.name) for each in await alice.pods(sights)] == [(worker, "train-0")]
        assert "container c of pod ns/train-0 started" in await text(alice, "train", tail_lines=50)
        about = await _event(world.workers[worker], "Pod", "train-0", "Pulled")
        await _event(world.workers[worker], "Pod", "somebody-elses", "Secret")
        reasons = [event["reason"] for cluster, event in await alice.events(sights) if cluster == worker]
        assert about["reason"] in reasons
        assert "Secret" not in reasons


async def test_followed_log_ends_with_its_container(tmp_path: Path):
    async with views(tmp_path) as world:
        await cordon(world, other_than="east")
        await world.running("train", "east")
        alice = world.as_user("alice")
        (found,) = await alice.pods(await alice.sights("job", Key("ns", "train")))
        stream = await found.source.log(found.workload, found.name, LogQuery(follow=True))
        lines, told = [], False
        async for piece in stream.stream:
            lines += piece.decode().splitlines()
            if len(lines) >= 2 and not told:
                told = True  # a busy machine may be told several lines at once
                await ended(world.workers["east"], "train-0")
        assert (lines[1], lines[-1]) == ("second 1", "container c ended with exit code 0")


async def test_who_may_not_read_pods_on_the_manager_reads_none_in_workers(tmp_path: Path):
    async with views(tmp_path) as world:
        await cordon(world, other_than="west")
        await world.running("train", "west")
        eve, alice = world.as_user("eve"), world.as_user("alice")
        sights = await eve.sights("job", Key("ns", "train"))
        with pytest.raises(Forbidden, match='pods is forbidden: User "eve" cannot list resource "pods"'):
            await eve.pods(sights)
        (found,) = await alice.pods(sights)
        for what, problem in (("events", 'list resource "events"'), ("log", 'get resource "pods/log"')):
            with pytest.raises(Forbidden, match=f'User "eve" cannot {problem}'):
                await (eve.source("west").events(found.workload) if what == "events" else _log(eve, found))
        asked = world.reviews.reviews[-1]  # type: ignore[attr-defined]
        assert (asked["groups"], asked["resourceAttributes"]["namespace"]) == (["team-a", "system:authenticated"], "ns")


async def test_pod_of_another_job_is_not_found(tmp_path: Path):
    async with views(tmp_path) as world:
        await cordon(world, other_than="west")
        await world.running("train", "west")
        await pod(world.workers["west"], "somebody-elses")
        alice = world.as_user("alice")
        (found,) = await alice.pods(await alice.sights("job", Key("ns", "train")))
        with pytest.raises(NotFound, match="pod somebody-elses does not belong to Workload"):
            await found.source.log(found.workload, "somebody-elses", LogQuery())


async def test_what_runs_nowhere_says_what_it_waits_for(tmp_path: Path):
    async with views(tmp_path) as world:
        await world.manager.create(job("big", cpu=100))
        await until(lambda: workload_of(world, "big"), "big is queued")
        alice = world.as_user("alice")
        sights = await alice.sights("job", Key("ns", "big"))
        with pytest.raises(NothingRuns, match=r"Job/big runs nowhere yet: it waits for quota on the manager"):
            await alice.pods(sights)
        with pytest.raises(NoSuchJob, match='Job "none" not found in namespace ns'):
            await alice.sights("job", Key("ns", "none"))


async def _log(following: JobOnManager, found) -> None:
    await following.source("west").log(found.workload, found.name, LogQuery())


async def cordon(world: Views, *, other_than: str) -> None:
    for name in world.workers:
        if name != other_than:
            mark = {"metadata": {"annotations": {"fedhub.dev/cordoned": "true"}}}
            await world.manager.patch(MULTIKUEUE_CLUSTERS, name, mark)
            await until(lambda name=name: _is_cordoned(world, name), f"the hub knows that {name} is cordoned")


def _is_cordoned(world: Views, name: str) -> bool:
    assert world.hub is not None
    found = world.hub.objects.clusters.get(Key("", name))
    return found is not None and drain.is_cordoned(found)


async def _event(cluster: Cluster, kind: str, name: str, reason: str) -> Document:
    found = await cluster.get(PODS, name)
    assert found is not None
    about = {"apiVersion": "v1", "kind": kind, "name": name, "namespace": "ns", "uid": found["metadata"]["uid"]}
    now = CLOCK.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "ns"},
        "involvedObject": about,
        "reason": reason,
        "message": reason,
        "type": "Normal",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    await cluster.client.create(CORE_EVENTS, event, "ns")
    return event

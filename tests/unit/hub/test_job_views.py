"""The API by which users read of their jobs in workers: names that are none, and workers that misbehave."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace

import aiohttp
import msgspec
import pytest
from aiohttp import web
from yarl import URL

from hub.app import job_views
from hub.app.job_views import JobViews, Workers
from hub.app.remote_pods import LogQuery
from hub.clusters.cluster_profile import PluginProvider
from hub.clusters.credentials import Credential, CredentialSources
from worker_agent.aggregated.access import REVIEWS
from worker_agent.aggregated.front_proxy import User
from worker_agent.aggregated.server import AggregatedServer
from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.api.multikueue import AgentSource, ClusterSource, MultiKueueCluster, MultiKueueClusterSpec
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.exec_plugin import ExecPlugin
from worker_agent.kube.transport import Request, Response

BASE = "/apis/remote.fedhub.dev/v1alpha1/namespaces/ns/workloads/w"
PODS = "/api/v1/namespaces/ns/pods"
OURS = {"kueue.x-k8s.io/multikueue-origin": "mk"}
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads"


def workload(name: str = "w", **metadata: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": OURS, **metadata}}


POD = {"metadata": {"name": "p", "namespace": "ns", "uid": "1", "annotations": {"kueue.x-k8s.io/workload": "w"}}}


class Manager:
    """Allows everything."""

    async def request(self, request: Request) -> Response:
        assert request.path == REVIEWS.path()
        return _answer(201, {"status": {"allowed": True}})

    async def close(self) -> None:
        pass


class Worker:
    """Answers as ``answers`` says; what is not there is not found."""

    def __init__(self) -> None:
        self.answers = {
            f"{WORKLOADS}/w": _answer(200, workload()),
            f"{PODS}/p": _answer(200, POD),
        }
        self.asked: list[str] = []
        self.hangs_at = ""
        self.closed = asyncio.Event()

    async def request(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path == self.hangs_at:
            await asyncio.Event().wait()
        return self.answers.get(request.path) or _answer(404, {"reason": "NotFound", "message": "not found"})

    async def close(self) -> None:
        self.closed.set()


def _answer(status: int, document: object) -> Response:
    return Response(status, {}, _pieces(msgspec.json.encode(document)))


async def _pieces(*pieces: bytes | Exception) -> AsyncIterator[bytes]:
    for piece in pieces:
        if isinstance(piece, Exception):
            raise piece
        yield piece


class Known:
    """Every agent has enrolled."""

    def enrolled(self, agent: str) -> bool:
        return True

    def meeting(self, agent: str) -> int:
        return 1


@contextlib.asynccontextmanager
async def served(worker: Worker, monkeypatch) -> AsyncIterator[tuple[aiohttp.ClientSession, JobViews]]:
    cluster = MultiKueueCluster(
        metadata=ObjectMeta(name="east"),
        spec=MultiKueueClusterSpec(cluster_source=ClusterSource(agent=AgentSource(name="east"))),
    )
    placed = SimpleNamespace(status=SimpleNamespace(cluster_name="east"))
    objects = SimpleNamespace(clusters={Key("", "east"): cluster}, workloads={Key("ns", "w"): placed})
    sources = CredentialSources("hub", lambda key: None, agents=Known())
    workers = Workers(objects, sources, lambda credential: worker, "mk")  # type: ignore[arg-type]
    views = JobViews(Client(Manager(), SystemClock()), workers)
    server = AggregatedServer(None, 0, views.answer)
    monkeypatch.setattr(server, "_user", lambda request: User("alice"))
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server._handle)
    runner = web.AppRunner(application, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        async with aiohttp.ClientSession(f"http://{host}:{port}") as client:
            yield client, views
    finally:
        await runner.cleanup()


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    monkeypatch.setattr(job_views, "ALIVE_SECONDS", 0.05)
    monkeypatch.setattr(job_views, "PATIENCE_SECONDS", 0.3)


async def test_log_of_a_pod(monkeypatch):
    worker = Worker()
    worker.answers[f"{PODS}/p/log"] = Response(200, {}, _pieces(b"one\n", b"two\n"))
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/log", params={"pod": "p"})
        assert (response.status, await response.text()) == (200, "one\ntwo\n")


@pytest.mark.parametrize("name", ["", ".", "..", "../secrets/s", "p/log", "p%2flog", "P", "p\n", "a" * 254])
async def test_what_is_no_name_of_a_pod_reaches_no_worker(monkeypatch, name):
    worker = Worker()
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/log", params={"pod": name})
        assert (response.status, (await response.json())["message"][:5]) == (400, "pod: ")
        assert not any(path.startswith(PODS) for path in worker.asked)


@pytest.mark.parametrize("name", ["c/d", "..", "C", "c\nd"])
async def test_what_is_no_name_of_a_container_reaches_no_worker(monkeypatch, name):
    worker = Worker()
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/log", params={"pod": "p", "container": name})
        assert (response.status, (await response.json())["message"][:11]) == (400, "container: ")
        assert not any(path.startswith(PODS) for path in worker.asked)


@pytest.mark.parametrize("path", ["..%2fpods", "%2e%2e/pods", "x%2fpods", "w%2flog/pods", "w%00/pods"])
async def test_escapes_in_a_path_lead_nowhere(monkeypatch, path):
    worker = Worker()
    async with served(worker, monkeypatch) as (client, _):
        base = str(client._base_url).rstrip("/") + BASE.removesuffix("w")
        response = await client.get(URL(base + path, encoded=True))
        assert (response.status, worker.asked) == (404, [])


async def test_who_leaves_before_the_first_line_gives_its_place_back(monkeypatch):
    worker = Worker()
    worker.hangs_at = f"{PODS}/p/log"
    async with served(worker, monkeypatch) as (client, views):
        with pytest.raises(TimeoutError):
            await client.get(
                f"{BASE}/log",
                params={"pod": "p", "follow": "true"},
                timeout=aiohttp.ClientTimeout(total=0.5),
            )
        async with asyncio.timeout(20):
            await worker.closed.wait()
        assert views._logs.total() == 0


async def test_worker_that_never_answers_is_given_up(monkeypatch):
    worker = Worker()
    worker.hangs_at = f"{PODS}/p/log"
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/log", params={"pod": "p"}, timeout=aiohttp.ClientTimeout(total=20))
        assert response.status == 503
        assert "cluster east cannot be reached: no answer within" in (await response.json())["message"]


async def test_log_that_breaks_off_is_no_whole_one(monkeypatch):
    worker = Worker()
    worker.answers[f"{PODS}/p/log"] = Response(200, {}, _pieces(b"one\n", ConnectionError("gone")))
    async with served(worker, monkeypatch) as (client, views):
        response = await client.get(f"{BASE}/log", params={"pod": "p"})
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()
        assert views._logs.total() == 0


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"metadata": null}'])
@pytest.mark.parametrize("what", ["pods", "log?pod=p"])
async def test_answer_that_is_no_object_is_the_workers_fault(monkeypatch, answer, what):
    worker = Worker()
    worker.answers[f"{WORKLOADS}/w"] = Response(200, {}, _pieces(answer))
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/{what}")
        assert (response.status, "cluster east" in (await response.json())["message"]) == (503, True)


async def test_login_that_a_worker_refuses_is_not_the_users(monkeypatch):
    worker = Worker()
    worker.answers[f"{WORKLOADS}/w"] = _answer(401, {"message": "Unauthorized"})
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/pods")
        assert (response.status, "cluster east" in (await response.json())["message"]) == (503, True)


@pytest.mark.parametrize(("labels", "status"), [(OURS, 200), ({}, 404)])
async def test_chain_of_slices_that_begins_with_somebody_elses_workload_shows_none_of_its_pods(
    monkeypatch, labels, status
):
    worker = Worker()
    chain = "kueue.x-k8s.io/workload-slice-name"
    worker.answers[f"{WORKLOADS}/w"] = _answer(200, workload(annotations={chain: "first"}))
    worker.answers[f"{WORKLOADS}/first"] = _answer(200, workload("first", labels=labels))
    pod = {**POD["metadata"], "annotations": {"kueue.x-k8s.io/workload": "first", chain: "first"}}
    worker.answers[f"{PODS}/p"] = _answer(200, {"metadata": pod})
    worker.answers[f"{PODS}/p/log"] = Response(200, {}, _pieces(b"one"))
    async with served(worker, monkeypatch) as (client, _):
        response = await client.get(f"{BASE}/log", params={"pod": "p"})
        await response.read()
        assert response.status == status


async def test_log_that_opens_as_its_reader_is_told_to_end_is_closed():
    closed = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        try:
            yield b"one"
            yield b"two"
        finally:
            closed.set()

    stream = pieces()
    await anext(stream)
    came = asyncio.get_running_loop().create_future()
    reading = asyncio.create_task(
        job_views._opened(came, LogQuery(follow=True), SimpleNamespace(transport=None))  # type: ignore[arg-type]
    )
    await asyncio.sleep(0)
    came.set_result(Response(200, {}, stream))
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert closed.is_set()


async def test_credential_plugin_logs_in_once_for_many_questions():
    document = {"metadata": {"name": "east"}, "spec": {"clusterSource": {"clusterProfileRef": {"name": "east"}}}}
    cluster = msgspec.convert(document, MultiKueueCluster)
    profile = {"status": {"accessProviders": [{"name": "cloud", "cluster": {"server": "https://east.example"}}]}}
    sources = CredentialSources(
        "hub",
        lambda key: None,
        profile=lambda key: profile,
        profiles_enabled=True,
        access_providers={"cloud": PluginProvider("cloud", ExecPlugin("login", "v1"))},
    )
    made: list[Worker] = []

    def connect(credential: Credential) -> Worker:
        made.append(Worker())
        return made[-1]

    objects = SimpleNamespace(clusters={Key("", "east"): cluster})
    workers = Workers(objects, sources, connect, "mk")  # type: ignore[arg-type]
    manager = Client(Manager(), SystemClock())
    for server in ("https://east.example", "https://east.example", "https://other.example"):
        profile["status"]["accessProviders"][0]["cluster"] = {"server": server}
        async with workers.pods_of("east", manager):
            pass
    assert [worker.closed.is_set() for worker in made] == [True, False]
    await workers.close()
    assert made[-1].closed.is_set()

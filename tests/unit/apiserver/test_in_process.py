import asyncio
import json

import pytest

from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.in_process import InProcessTransport
from tests.unit.apiserver.world import CONFIG_MAPS, JOBS, PODS, World, config_map, job, pod
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response


@pytest.fixture
def server(world: World) -> ApiServer:
    return ApiServer(world.core, SystemClock())


@pytest.fixture
def transport(server: ApiServer) -> InProcessTransport:
    return InProcessTransport(server)


async def send(transport: InProcessTransport, method: str, url: str, body: object = None) -> Response:
    path, _, query = url.partition("?")
    pairs = tuple(tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair)
    content = b"" if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
    return await transport.request(Request(method, path, pairs, headers, content))  # type: ignore[arg-type]


async def test_request_and_answer(transport: InProcessTransport) -> None:
    response = await send(transport, "POST", CONFIG_MAPS, config_map("a"))
    assert response.status == 201
    assert json.loads(await response.read())["metadata"]["name"] == "a"


async def test_watch_streams_until_its_time_is_over(transport: InProcessTransport) -> None:
    response = await send(transport, "GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
    await send(transport, "POST", CONFIG_MAPS, config_map("a"))
    lines = (await response.read()).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["ADDED"]


async def test_watch_is_woken_by_a_write(transport: InProcessTransport) -> None:
    response = await send(transport, "GET", f"{CONFIG_MAPS}?watch=1")
    waiting = asyncio.create_task(anext(response.stream))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await send(transport, "POST", CONFIG_MAPS, config_map("a"))
    piece = await asyncio.wait_for(waiting, 5)
    assert json.loads(piece)["object"]["metadata"]["name"] == "a"
    await response.stream.aclose()  # type: ignore[attr-defined]


async def test_garbage_is_collected_by_itself(transport: InProcessTransport) -> None:
    made = json.loads(await (await send(transport, "POST", JOBS, job("a"))).read())
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": made["metadata"]["uid"]}
    await send(transport, "POST", PODS, pod("p", ownerReferences=[reference]))
    watch = await send(transport, "GET", f"{PODS}?watch=1&resourceVersion={made['metadata']['resourceVersion']}")
    await send(transport, "DELETE", f"{JOBS}/a?propagationPolicy=Background")
    seen = b""
    async with asyncio.timeout(5):
        while b"DELETED" not in seen:
            seen += await anext(watch.stream)  # type: ignore[call-overload]
    await watch.stream.aclose()  # type: ignore[attr-defined]


async def test_stop_ends_watches(server: ApiServer, transport: InProcessTransport) -> None:
    response = await send(transport, "GET", f"{CONFIG_MAPS}?watch=1")
    reading = asyncio.create_task(response.read())
    await asyncio.sleep(0)
    await server.stop()
    assert await asyncio.wait_for(reading, 5) == b""


async def test_writes_are_counted_by_who_made_them(server: ApiServer, transport: InProcessTransport) -> None:
    await send(transport, "POST", CONFIG_MAPS, config_map("a"))
    await send(transport, "GET", f"{CONFIG_MAPS}/a")
    await send(transport, "PATCH", f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    assert dict(server.writes) == {
        ("", "kubernetes-admin", "POST", "v1/configmaps", 201): 1,
        ("", "kubernetes-admin", "PATCH", "v1/configmaps", 200): 1,
    }


async def test_a_bug_is_answered_with_500(
    server: ApiServer, transport: InProcessTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.core.schemas, "default", lambda gvk, document: 1 / 0)
    response = await send(transport, "POST", CONFIG_MAPS, config_map("a"))
    assert response.status == 500
    assert "ZeroDivisionError" in (await response.read()).decode()

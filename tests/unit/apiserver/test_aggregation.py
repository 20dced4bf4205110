"""APIs of other servers: registered, looked at, relayed to with the words that say who asks, refused when away."""

import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from hub.local.apiserver.certificates import Authority
from hub.local.apiserver.serve import RunningServer, ServerConfig, start
from worker_agent.api.document import Document
from worker_agent.kube.key_files import key_file
from worker_agent.kube.transport import Request

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
ECHOES = "/apis/echo.example.com/v1/namespaces/default/echoes"


def registration(port: int = 443, **spec: object) -> Document:
    service = {"namespace": "default", "name": "echo", "port": port}
    priorities = {"groupPriorityMinimum": 100, "versionPriority": 10}
    spec = {"group": "echo.example.com", "version": "v1", "service": service, **priorities, **spec}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.echo.example.com"},
        "spec": spec,
    }


async def echo(request: web.Request) -> web.StreamResponse:
    """Says what it serves, and of other requests who sent them by which certificate; a watch gets two lines."""
    if request.path.count("/") == 3:
        listed = [{"name": "echoes", "singularName": "echo", "namespaced": True, "kind": "Echo", "verbs": ["get"]}]
        return web.json_response(
            {"kind": "APIResourceList", "groupVersion": "echo.example.com/v1", "resources": listed}
        )
    if "watch" in request.query:
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        for line in (b'{"n":1}\n', b'{"n":2}\n'):
            await response.write(line)
        return response
    certificate = request.get_extra_info("peercert") or {}
    told = {
        "path": request.path_qs,
        "user": request.headers.get("x-remote-user"),
        "groups": request.headers.getall("x-remote-group", []),
        "authorization": request.headers.get("authorization"),
        "certificate": dict(pair for part in certificate.get("subject", ()) for pair in part).get("commonName"),
        "body": (await request.read()).decode(),
    }
    return web.json_response(told, status=201 if request.method == "POST" else 200)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer]:
    running = await start(ServerConfig(tmp_path, tokens={"secret": ("bob", ("team",))}))
    yield running
    await running.stop()


@pytest.fixture
async def aggregated(server: RunningServer, tmp_path: Path) -> AsyncIterator[Document]:
    """The APIService of a server that trusts this cluster's front proxy and nobody else."""
    owner = Authority.create()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = owner.server(["echo.default.svc"])
    with key_file(pair.certificate, pair.key) as path:
        context.load_cert_chain(path)
    context.load_verify_locations(tmp_path / "front-proxy" / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    runner = web.ServerRunner(web.Server(echo))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    server.services["default", "echo"] = f"https://127.0.0.1:{port}"
    bundle = base64.b64encode(owner.pair.certificate).decode()
    yield registration(port, caBundle=bundle)
    await runner.cleanup()


async def ask(server: RunningServer, method: str, path: str, document: Document | None = None) -> tuple[int, bytes]:
    path, _, query = path.partition("?")
    pairs = tuple(tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair)
    content = b"" if document is None else json.dumps(document).encode()
    headers = {"Content-Type": "application/json"}
    response = await server.transport.request(Request(method, path, pairs, headers, content))  # type: ignore[arg-type]
    return response.status, await response.read()


async def available(server: RunningServer) -> Document:
    """The Available condition, once there is one."""
    path = f"{API_SERVICES}/v1.echo.example.com"
    query = (("watch", "true"), ("fieldSelector", "metadata.name=v1.echo.example.com"))
    watch = await server.transport.request(Request("GET", API_SERVICES, query))
    async for piece in watch.stream:
        for line in piece.splitlines():
            conditions = (json.loads(line)["object"].get("status") or {}).get("conditions")
            if conditions:
                await watch.close()
                condition: Document = conditions[0]
                return condition
    raise AssertionError(f"the watch of {path} ended")


async def test_requests_are_relayed_in_the_name_of_who_asks(server: RunningServer, aggregated: Document) -> None:
    await ask(server, "POST", API_SERVICES, aggregated)
    assert (await available(server))["reason"] == "Passed"
    context = ssl.create_default_context(cadata=server.ca.pair.certificate.decode())
    headers = {"Authorization": "Bearer secret", "X-Remote-User": "admin"}
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session,
        session.post(f"{ECHOES}?a=1", json={"x": 1}) as response,
    ):
        told = await response.json()
    assert response.status == 201
    assert told == {
        "path": f"{ECHOES}?a=1",
        "user": "bob",
        "groups": ["team", "system:authenticated"],
        "authorization": None,
        "certificate": "front-proxy-client",
        "body": '{"x": 1}',
    }


async def test_a_relayed_watch_comes_as_it_goes(server: RunningServer, aggregated: Document) -> None:
    await ask(server, "POST", API_SERVICES, aggregated)
    await available(server)
    assert await ask(server, "GET", f"{ECHOES}?watch=true") == (200, b'{"n":1}\n{"n":2}\n')


async def test_discovery_shows_what_the_other_server_serves(server: RunningServer, aggregated: Document) -> None:
    await ask(server, "POST", API_SERVICES, aggregated)
    await available(server)
    groups = json.loads((await ask(server, "GET", "/apis"))[1])["groups"]
    assert "echo.example.com" in [group["name"] for group in groups]
    accept = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    response = await server.transport.request(Request("GET", "/apis", (), accept))
    items = json.loads(await response.read())["items"]
    (version,) = next(item for item in items if item["metadata"]["name"] == "echo.example.com")["versions"]
    assert (version["freshness"], version["resources"][0]["resource"]) == ("Current", "echoes")


async def test_without_its_service_it_is_not_available(server: RunningServer) -> None:
    await ask(server, "POST", API_SERVICES, registration(insecureSkipTLSVerify=True))
    condition = await available(server)
    assert (condition["status"], condition["reason"]) == ("False", "ServiceNotFound")
    assert condition["message"] == 'service/echo in "default" is not present'
    assert await ask(server, "GET", ECHOES) == (503, b"service unavailable\n")


async def test_aggregated_servers_are_told_whom_to_trust(server: RunningServer, tmp_path: Path) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    data = json.loads((await ask(server, "GET", path))[1])["data"]
    assert data["requestheader-client-ca-file"] == (tmp_path / "front-proxy" / "ca.crt").read_text()
    assert data["requestheader-allowed-names"] == '["front-proxy-client"]'
    assert data["client-ca-file"] == server.ca.pair.certificate.decode()

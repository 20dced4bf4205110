"""The HTTPS shell: who may ask, how watches and big lists travel, and webhooks that are really called."""

import base64
import io
import json
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hub.local.apiserver.certificates import Authority
from hub.local.apiserver.http import server_context
from hub.local.apiserver.serve import RunningServer, ServerConfig, start
from tests.unit.apiserver.plain_schemas import PlainSchemas
from tests.unit.apiserver.world import CONFIG_MAPS, config_map
from worker_agent.api.document import Document
from worker_agent.kube.key_files import key_file


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer]:
    config = ServerConfig(tmp_path, tokens={"secret": ("bob", ("team",))})
    running = await start(config, schemas=PlainSchemas())
    yield running
    await running.stop()


def trusting(server: RunningServer, user: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=server.ca.pair.certificate.decode())
    if user:
        pair = server.ca.client(user, ["team-a"])
        with key_file(pair.certificate, pair.key) as path:
            context.load_cert_chain(path)
    return context


@pytest.fixture
async def session(server: RunningServer) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=trusting(server))
    headers = {"Authorization": "Bearer secret"}
    async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as opened:
        yield opened


async def whoami(session: aiohttp.ClientSession) -> Any:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with session.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=review) as response:
        document = await response.json()
    return document["status"]["userInfo"]


async def test_token(session: aiohttp.ClientSession) -> None:
    assert await whoami(session) == {"username": "bob", "groups": ["team", "system:authenticated"]}


async def test_client_certificate(server: RunningServer) -> None:
    connector = aiohttp.TCPConnector(ssl=trusting(server, "alice"))
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        found = await whoami(session)
    assert (found["username"], found["groups"]) == ("alice", ["team-a", "system:authenticated"])
    (credential,) = found["extra"]["authentication.kubernetes.io/credential-id"]
    assert re.fullmatch("X509SHA256=[0-9a-f]{64}", credential)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic c2VjcmV0"}])
async def test_strangers_are_refused(server: RunningServer, headers: dict[str, str]) -> None:
    connector = aiohttp.TCPConnector(ssl=trusting(server))
    async with (
        aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session,
        session.get(CONFIG_MAPS) as response,
    ):
        assert response.status == 401
        assert (await response.json())["message"] == "Unauthorized"


async def test_health_needs_no_credentials(server: RunningServer) -> None:
    connector = aiohttp.TCPConnector(ssl=trusting(server))
    async with aiohttp.ClientSession(server.url, connector=connector) as session, session.get("/readyz") as response:
        assert (response.status, await response.text()) == (200, "ok")


async def test_certificate_of_another_authority_is_refused(server: RunningServer) -> None:
    context = trusting(server)
    pair = Authority.create().client("mallory")
    with key_file(pair.certificate, pair.key) as path:
        context.load_cert_chain(path)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(CONFIG_MAPS)


async def test_watch_travels_in_lines(session: aiohttp.ClientSession) -> None:
    async with session.get(f"{CONFIG_MAPS}?watch=true") as watch:
        await session.post(CONFIG_MAPS, json=config_map("a"))
        event = json.loads(await watch.content.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_big_lists_are_compressed(session: aiohttp.ClientSession) -> None:
    for name in ("a", "b"):
        await session.post(CONFIG_MAPS, json=config_map(name, {"k": "v" * 100_000}))
    async with session.get(CONFIG_MAPS, headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert len((await response.json())["items"]) == 2
    async with session.get(f"{CONFIG_MAPS}/a", headers={"Accept-Encoding": "gzip"}) as response:
        assert "Content-Encoding" not in response.headers


async def test_body_over_three_megabytes_is_refused(session: aiohttp.ClientSession) -> None:
    async with session.post(CONFIG_MAPS, data=io.BytesIO(b" " * (3 * 1024 * 1024 + 1))) as response:
        assert (response.status, (await response.json())["reason"]) == (413, "RequestEntityTooLarge")


async def test_body_of_two_megabytes_is_taken(session: aiohttp.ClientSession) -> None:
    body = json.dumps(config_map("a", {"k": "v" * 2_000_000})).encode()
    headers = {"Content-Type": "application/json"}
    async with session.post(CONFIG_MAPS, data=io.BytesIO(body), headers=headers) as response:
        assert response.status == 201


async def test_writes_are_counted(session: aiohttp.ClientSession) -> None:
    await session.post(CONFIG_MAPS, json=config_map("a"), headers={"User-Agent": "me/1"})
    async with session.get("/metrics") as response:
        text = await response.text()
    labels = 'user_agent="me/1",user="bob",method="POST",resource="v1/configmaps",code="201"'
    assert f"apiserver_writes_total{{{labels}}} 1" in text


async def test_kubeconfig_is_private_and_complete(server: RunningServer) -> None:
    path = server.config.data_dir / "admin.kubeconfig"
    assert path.stat().st_mode & 0o077 == 0
    content = json.loads(path.read_text())
    assert content["clusters"][0]["cluster"]["server"] == server.url
    assert base64.b64decode(content["users"][0]["user"]["client-key-data"]).startswith(b"-----BEGIN PRIVATE KEY")


class Hook:
    """A webhook server with its own authority, reached by the name of a Service."""

    def __init__(self) -> None:
        self.authority = Authority.create("hook-ca")
        self.reviews: list[Document] = []
        self.response: Document = {"allowed": True}
        self._runner = web.ServerRunner(web.Server(self._handle))
        self.url = ""

    async def __aenter__(self) -> "Hook":
        await self._runner.setup()
        certificate = self.authority.server(["hook.system.svc"])
        context = server_context(certificate, self.authority.pair.certificate)
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self.url = f"https://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        review = await request.json()
        self.reviews.append(review)
        response = {"uid": review["request"]["uid"], **self.response}
        return web.json_response({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})

    def configuration(self) -> Document:
        service = {"namespace": "system", "name": "hook", "path": "/validate"}
        bundle = base64.b64encode(self.authority.pair.certificate).decode()
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        webhook = {
            "name": "hook.example.com",
            "clientConfig": {"service": service, "caBundle": bundle},
            "rules": [rule],
            "timeoutSeconds": 2,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook"},
            "webhooks": [webhook],
        }


WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


async def test_webhook_is_called_over_https(server: RunningServer, session: aiohttp.ClientSession) -> None:
    async with Hook() as hook:
        server.services["system", "hook"] = hook.url
        hook.response = {"allowed": False, "status": {"message": "not today"}}
        await session.post(WEBHOOKS, json=hook.configuration())
        async with session.post(CONFIG_MAPS, json=config_map("a")) as response:
            message = (await response.json())["message"]
    assert message == 'admission webhook "hook.example.com" denied the request: not today'
    assert hook.reviews[0]["request"]["userInfo"]["username"] == "bob"


async def test_webhook_nobody_serves(session: aiohttp.ClientSession) -> None:
    await session.post(WEBHOOKS, json=Hook().configuration())
    async with session.post(CONFIG_MAPS, json=config_map("a")) as response:
        assert response.status == 500
        message = (await response.json())["message"]
    assert message == (
        'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: '
        'Post "https://hook.system.svc:443/validate?timeout=2s": service "hook" not found'
    )


async def test_webhook_with_an_untrusted_certificate(server: RunningServer, session: aiohttp.ClientSession) -> None:
    async with Hook() as hook:
        server.services["system", "hook"] = hook.url
        configuration = hook.configuration()
        bundle = base64.b64encode(Authority.create().pair.certificate).decode()
        configuration["webhooks"][0]["clientConfig"]["caBundle"] = bundle
        await session.post(WEBHOOKS, json=configuration)
        async with session.post(CONFIG_MAPS, json=config_map("a")) as response:
            assert response.status == 500
    assert hook.reviews == []

"""Requests as sent, answers as read, refusals as exceptions, writes counted."""

import asyncio
import json

import pytest

from tests.unit.kube.fake_server import FakeServer, ScriptedTransport, answer, clock, status
from worker_agent.api.resource_type import CLUSTER_QUEUES, JOBS, PODS
from worker_agent.kube import errors
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.retry import NEVER
from worker_agent.kube.transport import Response

pytestmark = pytest.mark.looptime


def client(*script: object, **options: object) -> tuple[Client, ScriptedTransport]:
    transport = ScriptedTransport(*script)
    return Client(transport, clock(), **options), transport  # type: ignore[arg-type]


async def test_apply_names_its_manager_and_forces():
    api, transport = client(lambda request: answer(200, {}))
    await api.apply(JOBS, "j", "ns", {"spec": {}}, field_manager="m", subresource="status")
    request = transport.requests[0]
    assert (request.method, request.path) == ("PATCH", "/apis/batch/v1/namespaces/ns/jobs/j/status")
    assert request.query == (("fieldManager", "m"), ("force", "true"), ("fieldValidation", "Ignore"))
    assert request.headers["content-type"] == "application/apply-patch+yaml"


@pytest.mark.parametrize("patch_type", list(PatchType))
async def test_patches_have_their_media_type(patch_type: PatchType):
    api, transport = client(lambda request: answer(200, {}))
    await api.patch(JOBS, "j", "ns", {"a": 1}, patch_type=patch_type)
    assert transport.requests[0].headers["content-type"] == patch_type.value
    assert json.loads(transport.requests[0].body) == {"a": 1}


async def test_delete_sends_preconditions_and_propagation():
    api, transport = client(lambda request: answer(200, {}))
    await api.delete(JOBS, "j", "ns", uid="u", resource_version="7")
    body = json.loads(transport.requests[0].body)
    assert body["preconditions"] == {"uid": "u", "resourceVersion": "7"}
    assert body["propagationPolicy"] == "Background"


async def test_create_posts_to_a_subresource():
    api, transport = client(lambda request: answer(201, {}))
    await api.create(PODS, {"target": {"name": "n"}}, "ns", name="p", subresource="binding")
    assert transport.requests[0].path == "/api/v1/namespaces/ns/pods/p/binding"


async def test_list_walks_pages_and_completes_items():
    server = FakeServer(page=2)
    for number in range(5):
        server.put(f"p{number}")
    page = await server.client().list(PODS, "ns")
    assert [json.loads(item)["metadata"]["name"] for item in page.items] == ["p0", "p1", "p2", "p3", "p4"]
    assert {(json.loads(item)["apiVersion"], json.loads(item)["kind"]) for item in page.items} == {("v1", "Pod")}
    assert page.resource_version == "105"


async def test_list_starts_anew_when_a_page_token_expires():
    server = FakeServer(page=1)
    server.put("a"), server.put("b")
    first = True

    def compact_once(request: object) -> Response | None:
        nonlocal first
        if first and any(name == "continue" for name, _ in request.query):  # type: ignore[attr-defined]
            first = False
            server.put("c")
            server.compact()
        return None

    server.intercept = compact_once
    page = await server.client().list(PODS, "ns")
    assert len(page.items) == 3


async def test_list_of_something_else_is_a_clear_error():
    api, _ = client(lambda request: answer(200, b"<html>login</html>"))
    with pytest.raises(errors.MalformedAnswer, match="list of pods: the answer is not a list"):
        await api.list(PODS)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (501, "NotImplemented", errors.ServerError),
        (302, "", errors.ApiError),
    ],
)
async def test_refusals_by_status(code: int, reason: str, kind: type[errors.ApiError]):
    api, _ = client(lambda request: answer(code, status(code, reason, "why", name="j")), retry_policy=NEVER)
    with pytest.raises(kind, match="why") as caught:
        await api.get(JOBS, "j", "ns")
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason, caught.value.details) == (code, reason, {"name": "j"})


async def test_refusal_without_a_status_keeps_the_text():
    api, _ = client(lambda request: answer(404, b"404 page not found\n"))
    with pytest.raises(errors.NotFound, match="404 page not found"):
        await api.get(JOBS, "j", "ns")


async def test_every_write_is_counted_and_no_read():
    api, _ = client(lambda request: answer(200, {"metadata": {}, "items": []}))
    await api.get(JOBS, "j", "ns")
    await api.list(JOBS)
    await api.create(JOBS, {"metadata": {"name": "j"}}, "ns")
    await api.update(JOBS, {"metadata": {"name": "j"}}, "ns", subresource="status")
    await api.patch(JOBS, "j", "ns", {}, patch_type=PatchType.MERGE)
    await api.apply(CLUSTER_QUEUES, "q", "", {}, field_manager="m", subresource="status")
    await api.delete(JOBS, "j", "ns")
    assert api.writes == {
        ("create", "jobs", ""): 1,
        ("update", "jobs", "status"): 1,
        ("patch", "jobs", ""): 1,
        ("apply", "clusterqueues", "status"): 1,
        ("delete", "jobs", ""): 1,
    }


async def test_a_repeated_write_counts_twice():
    api, _ = client(ConnectionError("lost"), lambda request: answer(200, {}))
    await api.apply(JOBS, "j", "ns", {}, field_manager="m")
    assert api.writes["apply", "jobs", ""] == 2


async def test_a_silent_server_is_given_up():
    async def never(request: object) -> Response:
        await asyncio.sleep(3600)
        raise AssertionError

    api, transport = client(None, timeout=30.0, retry_policy=NEVER)
    transport.request = never  # type: ignore[method-assign]
    with pytest.raises(errors.ServerSilent, match="no answer within 30 s"):
        await api.get(JOBS, "j", "ns")
    assert asyncio.get_running_loop().time() == pytest.approx(30, abs=0.1)


async def test_watch_joins_lines_cut_anywhere_and_drops_a_torn_end():
    async def pieces():
        for piece in (b'{"a"', b":1}\n{", b'"b":2}\n\n{"c":3}\n', b'{"torn'):
            yield piece

    api, _ = client(Response(200, {}, pieces()))
    batches = [batch async for batch in api.watch(PODS, resource_version="1")]
    assert [json.loads(line) for batch in batches for line in batch] == [{"a": 1}, {"b": 2}, {"c": 3}]


async def test_watch_asks_for_bookmarks():
    server = FakeServer()
    stream = server.client().watch(PODS, "ns", resource_version="100", label_selector="a=b")
    server.put("p")
    assert await anext(stream)
    await stream.aclose()
    query = dict(server.requests[0].query)
    assert query["allowWatchBookmarks"] == "true"
    assert query["labelSelector"] == "a=b"
    assert server.streams == 0


async def test_watch_ends_when_silent():
    server = FakeServer(bookmark_seconds=1e6)
    with pytest.raises(errors.ServerSilent, match="silent for 120 s"):
        async for _ in server.client().watch(PODS, "ns", resource_version="100"):
            pass
    assert server.streams == 0


async def test_time_the_reader_takes_is_not_silence():
    server = FakeServer()
    stream = server.client().watch(PODS, "ns", resource_version="100", silence=5.0)
    server.put("p")
    await anext(stream)
    await asyncio.sleep(60)
    server.put("q")
    assert await anext(stream)
    await stream.aclose()

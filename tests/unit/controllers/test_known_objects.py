"""The newest version of each object, from the watch or from our own last write."""

import asyncio
import json

import pytest

from tests.unit.kube.fake_server import FakeServer
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import PODS
from worker_agent.controllers.known_objects import LIFETIME_SECONDS, KnownObjects
from worker_agent.kube.informer import Informer, document

pytestmark = pytest.mark.looptime

KEY = Key("ns", "a")


@pytest.fixture
async def followed():
    server = FakeServer()
    server.put("a", phase="old")
    source = Informer(server.client(), PODS, document)
    source.add_index("phase", lambda pod: (pod.get("phase", ""),))
    known = KnownObjects()
    known.follow(PODS, source)
    running = asyncio.create_task(source.run())
    await source.synced.wait()
    yield server, known
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def raw(name, version, **fields):
    metadata = {"name": name, "namespace": "ns", "resourceVersion": str(version)}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **fields}).encode()


async def test_own_write_counts_until_the_watch_has_caught_up(followed):
    server, known = followed
    known.note(PODS, raw("a", server.version + 1, phase="written"))
    assert known.document(PODS, KEY)["phase"] == "written"
    server.put("a", phase="seen")
    await asyncio.sleep(1)
    assert known.document(PODS, KEY)["phase"] == "seen"


async def test_answer_older_than_what_is_known_is_not_kept(followed):
    _server, known = followed
    known.note(PODS, raw("a", 1, phase="ancient"))
    assert known.document(PODS, KEY)["phase"] == "old"


async def test_new_object_is_found_before_the_watch_tells_of_it(followed):
    server, known = followed
    known.note(PODS, raw("b", server.version + 1, phase="new"))
    assert [pod["metadata"]["name"] for pod in known.documents(PODS, "phase", "old")] == ["a", "b"]


async def test_object_that_the_watch_never_showed_is_forgotten(followed):
    server, known = followed
    known.note(PODS, raw("b", server.version + 1))
    await asyncio.sleep(LIFETIME_SECONDS + 1)
    assert known.document(PODS, Key("ns", "b")) is None


async def test_dropped_object_falls_back_to_the_watch(followed):
    server, known = followed
    known.note(PODS, raw("a", server.version + 1, phase="written"))
    known.drop(PODS, KEY)
    assert known.document(PODS, KEY)["phase"] == "old"

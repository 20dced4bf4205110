"""Who may scrape metrics: one question for many requests of one user, and an error lets nobody in."""

import json
from datetime import UTC, datetime

import pytest

from tests.unit.kube.fake_server import answer, status
from worker_agent.aggregated.access import REVIEWS, PathAccess
from worker_agent.app.bearer_access import KNOWN_SECONDS, TOKEN_REVIEWS, BearerAccess, Refusal
from worker_agent.kube.client import Client

RIGHT = PathAccess("get", "/metrics")
USERS = {"good": "prometheus", "curious": "eve"}


class Clock:
    def __init__(self):
        self.at = 100.0

    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self):
        return self.at

    def random(self):
        return 0.5

    async def sleep(self, seconds):
        self.at += seconds


class Cluster:
    """Knows two tokens; prometheus may scrape. ``away`` names a path that is not answered."""

    def __init__(self):
        self.asked = []
        self.away = ""

    async def request(self, request):
        self.asked.append(request.path)
        if request.path == self.away:
            return answer(403, status(403, "Forbidden"))
        spec = json.loads(request.body)["spec"]
        if request.path == TOKEN_REVIEWS.path():
            user = USERS.get(spec["token"])
            found = {"authenticated": True, "user": {"username": user, "groups": ["g"]}} if user else {"error": "no"}
            return answer(201, {"status": found})
        assert spec["nonResourceAttributes"] == {"verb": "get", "path": "/metrics"}
        return answer(201, {"status": {"allowed": spec["user"] == "prometheus"}})

    async def close(self):
        pass


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def access(cluster):
    return BearerAccess(Client(cluster, Clock()))


@pytest.mark.parametrize(
    ("header", "refusal"),
    {
        "nothing": ({}, Refusal(401, "Unauthorized")),
        "another scheme": ({"Authorization": "Basic Zm9vOmJhcg=="}, Refusal(401, "Unauthorized")),
        "bytes that are no text": ({"Authorization": "Bearer \udcff"}, Refusal(401, "Unauthorized")),
        "an unknown token": ({"Authorization": "Bearer nonsense"}, Refusal(401, "Unauthorized")),
        "no right": ({"Authorization": "Bearer curious"}, Refusal(403, "Authorization denied for user eve")),
        "the right": ({"Authorization": "bearer good"}, None),
    }.values(),
)
async def test_who_may(access, header, refusal):
    assert await access.refusal(header, RIGHT) == refusal


async def test_answers_are_kept_for_a_while(access, cluster):
    for _ in range(5):
        assert await access.refusal({"Authorization": "Bearer good"}, RIGHT) is None
    assert cluster.asked == [TOKEN_REVIEWS.path(), REVIEWS.path()]
    access._client.clock.at += KNOWN_SECONDS
    assert await access.refusal({"Authorization": "Bearer good"}, RIGHT) is None
    assert len(cluster.asked) == 4


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (TOKEN_REVIEWS.path(), "Authentication failed"),
        (REVIEWS.path(), "Authorization for user prometheus failed"),
    ],
)
async def test_who_cannot_be_asked_about_is_refused(access, cluster, path, text):
    cluster.away = path
    assert await access.refusal({"Authorization": "Bearer good"}, RIGHT) == Refusal(500, text)

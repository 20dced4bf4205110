"""Whom an API server names as the asker, and which API server is believed."""

from datetime import UTC, datetime

import msgspec
import pytest

from worker_agent.aggregated import access
from worker_agent.aggregated.access import Access
from worker_agent.aggregated.front_proxy import Trust, Untrusted, User
from worker_agent.aggregated.registration import Registration
from worker_agent.aggregated.server import AggregatedServer
from worker_agent.kube import authority as key_pair

DATA = {
    "requestheader-client-ca-file": "PEM",
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}
HEADERS = [
    ("X-Remote-User", "alice"),
    ("X-Remote-Group", "team-a"),
    ("X-Remote-Group", "system:authenticated"),
    ("X-Remote-Extra-Scopes%2fone", "a"),
    ("X-Remote-Extra-Scopes%2fone", "b"),
    ("Accept", "*/*"),
]


def trust() -> Trust:
    found = Trust.read({"data": DATA})
    assert found is not None
    return found


def test_user_groups_and_extra_are_read_from_the_headers():
    assert trust().user("front-proxy-client", HEADERS) == User(
        "alice", "", ("team-a", "system:authenticated"), {"scopes/one": ("a", "b")}
    )


def test_certificate_of_another_name_is_not_believed():
    with pytest.raises(Untrusted, match="'alice' is not one of the API server's front proxy"):
        trust().user("alice", HEADERS)


def test_request_without_a_user_is_nobodys():
    with pytest.raises(Untrusted, match="names no user"):
        trust().user("front-proxy-client", HEADERS[1:])


@pytest.mark.parametrize("config_map", [None, {}, {"data": {}}, {"data": {"client-ca-file": "PEM"}}])
def test_without_an_authority_nobody_is_believed(config_map):
    assert Trust.read(config_map) is None


def test_review_asks_for_the_right_in_the_namespace():
    asked = access.review(User("alice", "u", ("g",), {"k": ("v",)}), Access("get", "ns", "pods", "log"))["spec"]
    assert asked["resourceAttributes"] == {
        "verb": "get",
        "namespace": "ns",
        "group": "",
        "version": "v1",
        "resource": "pods",
        "subresource": "log",
        "name": "",
    }
    assert (asked["user"], asked["groups"], asked["uid"], asked["extra"]) == ("alice", ["g"], "u", {"k": ["v"]})


def test_registration_names_the_service_and_its_authority():
    made = Registration("remote.fedhub.dev", "v1alpha1", "kueue-system", "fedhub-hub").api_service(b"CA")
    assert made["metadata"]["name"] == "v1alpha1.remote.fedhub.dev"
    assert made["spec"]["caBundle"] == "Q0E="
    assert made["spec"]["service"] == {"namespace": "kueue-system", "name": "fedhub-hub", "port": 443}
    assert msgspec.json.encode(made)


async def _nothing(request, user):
    raise AssertionError


@pytest.mark.parametrize("authority", ["PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "é"])
async def test_authority_that_is_no_certificate_is_said_and_nothing_is_served(authority):
    made = key_pair.create("hub", (), datetime.now(UTC))
    server = AggregatedServer("127.0.0.1", 0, answer=_nothing)
    with pytest.raises(Untrusted, match="is no certificate in PEM"):
        await server.serve(made, Trust(authority.encode()))
    await server.stop()

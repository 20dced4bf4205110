"""Tokens and records of agents that dial in: what counts, and what is told to whoever has the wrong one."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from hub.clusters.agents import tokens
from hub.clusters.agents.links import AgentLinks, Greeting
from hub.clusters.agents.records import Record
from hub.clusters.agents.tokens import Token, TokenRefused
from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError, Subject
from worker_agent.tunnel.protocol import AgentName, Purpose, address

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOKEN = Token("abcd1234", "s" * 43)
SECRET = tokens.document(TOKEN, "east", "system", NOW + timedelta(hours=1), None)


def refusal(secret=SECRET, token=TOKEN, agent="east", fingerprint="f", now=NOW) -> str:
    with pytest.raises(TokenRefused) as found:
        tokens.check(secret, token, agent, fingerprint, now)
    return str(found.value)


def test_token_is_good_for_its_cluster_until_it_expires():
    tokens.check(SECRET, TOKEN, "east", "f", NOW)
    assert "not issued for 'west'" in refusal(agent="west")
    assert "has expired" in refusal(now=NOW + timedelta(hours=1))


def test_token_belongs_to_the_first_key_that_shows_it():
    bound = tokens.used(SECRET, "f")
    tokens.check(bound, TOKEN, "east", "f", NOW)
    assert "used already" in refusal(bound, fingerprint="another")


def test_wrong_and_unknown_tokens_are_told_the_same():
    told = {
        refusal(None),
        refusal(token=Token("abcd1234", "x" * 43)),
        refusal({**SECRET, "type": "Opaque"}),
    }
    assert len(told) == 1


def test_secret_of_a_token_does_not_hold_it():
    values = b"".join(base64.b64decode(value) for value in SECRET["data"].values())
    assert TOKEN.secret.encode() not in values
    assert TOKEN.secret not in repr(TOKEN)


@pytest.mark.parametrize("text", ["", "abc", "abcd1234", "abcd1234.short", "ABCD1234." + "x" * 43, "a/b.." + "x" * 43])
def test_what_is_no_token_is_not_looked_up(text):
    with pytest.raises(TokenRefused, match="not in the form"):
        Token.parse(text)


def test_record_that_is_being_deleted_counts_no_more():
    document = Record("east", "abcd1234", "uid").document("system", [])
    assert Record.read(document) == Record("east", "abcd1234", "uid")
    document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert Record.read(document) is None


@pytest.mark.parametrize("uris", [(), ("https://east/abc",), ("fedhub-agent://East/abc",), ("fedhub-agent://e/a",) * 2])
def test_certificates_that_name_no_agent(uris):
    assert AgentName.from_uris(uris) is None


def test_name_survives_its_certificate_whatever_its_length():
    own = authority.create("ca", (), NOW)
    name = AgentName("a" * 200, "abcd1234")
    _, request = authority.request(name.agent)
    subject = Subject(name.agent, uris=(name.uri,))
    pem, _ = authority.sign_request(own, request, subject, NOW, timedelta(hours=2))
    peer = authority.read_peer(pem)
    assert AgentName.from_uris(peer.uris) == name
    assert peer.expires_at - peer.issued_at == timedelta(hours=2)


def test_request_must_prove_its_key():
    own = authority.create("ca", (), NOW)
    _, one = authority.request("x")
    with pytest.raises(AuthorityError, match="cannot be read"):
        authority.sign_request(own, one.replace(b"BEGIN", b"BEG"), Subject("x"), NOW, timedelta(hours=1))


@pytest.mark.parametrize("text", ["http://hub:1", "hub:8444", "https://", "https://hub/path", "https://u:p@hub", ""])
def test_addresses_that_are_none(text):
    with pytest.raises(ValueError, match="must be https://host:port"):
        address(text)


def test_address_has_one_form():
    assert (address("https://Hub.example"), address("https://[::1]:8444/")) == (
        "https://hub.example:443",
        "https://[::1]:8444",
    )


class Session:
    """A connection that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def retire(self) -> None:
        self.asked.append("retire")

    def end(self) -> None:
        self.asked.append("end")


def link(links: AgentLinks, name: str, enrolment: str = "one") -> dict[Purpose, Session]:
    made = {purpose: Session() for purpose in Purpose}
    for purpose, session in made.items():
        links.attach(Greeting(AgentName("east", enrolment), name, purpose), session)
    return made


def test_agent_is_in_contact_when_both_connections_are_there():
    changes: list[str] = []
    links = AgentLinks(changes.append)
    links.attach(Greeting(AgentName("east", "one"), "a", Purpose.REQUESTS), Session())
    assert links.current("east") is None
    link(links, "b")
    assert links.current("east") is not None
    assert (changes, links.meeting("east")) == (["east"], 1)


def test_newer_link_retires_the_older_without_a_break():
    changes: list[str] = []
    links = AgentLinks(changes.append)
    old = link(links, "a")
    link(links, "b")
    assert [session.asked for session in old.values()] == [["retire"], ["retire"]]
    for purpose, session in old.items():
        links.detach(Greeting(AgentName("east", "one"), "a", purpose), session, "done")
    assert (changes, links.meeting("east")) == (["east"], 1)
    assert links.current("east") is not None


def test_connection_that_breaks_ends_its_link():
    changes: list[str] = []
    links = AgentLinks(changes.append)
    made = link(links, "a")
    links.detach(Greeting(AgentName("east", "one"), "a", Purpose.REQUESTS), made[Purpose.REQUESTS], "cut")
    assert made[Purpose.COLLECTIONS].asked == ["end"]
    assert links.current("east") is None
    assert (changes, links.absence("east")) == (["east"] * 2, 'agent "east" is not connected: cut')


def test_revoking_spares_the_enrolment_that_counts():
    links = AgentLinks()
    old, new = link(links, "a", "one"), link(links, "b", "two")
    links.revoke("east", "two")
    assert all("end" in session.asked for session in old.values())
    assert not any("end" in session.asked for session in new.values())

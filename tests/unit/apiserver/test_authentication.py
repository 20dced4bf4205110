from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.identity import Identity, member

AUTHENTICATOR = Authenticator({"secret": member("bob", ("team",))})
SUBJECT = ((("organizationName", "team-a"),), (("organizationName", "team-b"),), (("commonName", "alice"),))


def test_bearer_token() -> None:
    assert AUTHENTICATOR.request("Bearer secret", None) == Identity("bob", ("team", "system:authenticated"))


def test_wrong_token_is_nobody_even_with_a_certificate() -> None:
    assert AUTHENTICATOR.request("Bearer wrong", SUBJECT) is None


def test_certificate_gives_user_and_groups() -> None:
    identity = AUTHENTICATOR.request("", SUBJECT)
    assert identity == Identity("alice", ("team-a", "team-b", "system:authenticated"))


def test_nothing_is_nobody() -> None:
    assert AUTHENTICATOR.request("", None) is None

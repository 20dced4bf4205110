"""A secret is seen in a log in whatever form it stands there."""

import base64

import pytest

from tests import secret_search

KUBECONFIG = '{"users": [{"user": {"token": "0123456789abcdef-token", "client-key-data": "QUJDREVGR0hJSktMTU5PUA=="}}]}'
FORMS = {
    "as it is": KUBECONFIG,
    "encoded": f"x={base64.b64encode(KUBECONFIG.encode()).decode()}",
    "its token": "Authorization: Bearer 0123456789abcdef-token",
    "its key": "key QUJDREVGR0hJSktMTU5PUA==.",
}


@pytest.mark.parametrize("log", FORMS.values(), ids=FORMS)
def test_it_is_seen(log: str):
    assert secret_search.seen(secret_search.pieces(KUBECONFIG), {"hub.log": f"before {log} after"})


def test_a_key_of_anybody_is_seen():
    assert secret_search.seen([], {"hub.log": "-----BEGIN PRIVATE KEY-----"}) == {"hub.log": ["PRIVATE KEY"]}


def test_what_anybody_may_know_is_no_secret():
    data = {"tls.crt": "certificate", "tls.key": "0123456789abcdef-key", "namespace": "fedhub-system"}
    secret = {"data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}
    assert list(secret_search.values([secret])) == ["0123456789abcdef-key"]
    assert secret_search.seen(["0123456789abcdef-key"], {"hub.log": "certificate fedhub-system"}) == {}

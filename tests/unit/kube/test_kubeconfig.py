"""Kubeconfigs: what is understood, and for each thing that is wrong the field's name."""

import base64
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from worker_agent.kube.kubeconfig import KubeconfigError, in_cluster, load

PEM = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
B64 = base64.b64encode(PEM).decode()

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "main",
    "clusters": [{"name": "c", "cluster": {"server": "https://host:6443", "certificate-authority-data": B64}}],
    "users": [{"name": "u", "user": {"token": "sesame-token"}}],
    "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
}


def kubeconfig(change: Callable[[dict[str, Any]], Any] = lambda config: None) -> bytes:
    config = copy.deepcopy(GOOD)
    change(config)
    return yaml.safe_dump(config).encode()


def cluster(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    names = {name.replace("_", "-"): value for name, value in fields.items()}
    return lambda config: config["clusters"][0]["cluster"].update(names)


def user(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    names = {name.replace("_", "-"): value for name, value in fields.items()}
    return lambda config: config["users"][0]["user"].update(names)


def test_a_token_and_an_inline_authority():
    config = load(kubeconfig())
    assert (config.server, config.token, config.ca) == ("https://host:6443", "sesame-token", PEM)
    assert (config.context, config.namespace) == ("main", "team")


def test_secrets_are_not_printed():
    config = load(kubeconfig(user(client_certificate_data=B64, client_key_data=B64)))
    assert "sesame-token" not in repr(config)
    assert "client_key" not in repr(config)


def test_paths_are_relative_to_the_file(tmp_path: Path):
    (tmp_path / "ca.pem").write_bytes(PEM)
    (tmp_path / "me.pem").write_bytes(PEM)
    (tmp_path / "token").write_text("from-file\n")

    def change(config: dict[str, Any]) -> None:
        config["clusters"][0]["cluster"] = {"server": "https://host", "certificate-authority": "ca.pem"}
        config["users"][0]["user"] = {"client-certificate": "me.pem", "client-key": "me.pem", "tokenFile": "token"}

    path = tmp_path / "config"
    path.write_bytes(kubeconfig(change))
    config = load(path)
    assert (config.ca, config.client_certificate, config.client_key) == (PEM, PEM, PEM)
    assert (config.token, config.token_file) == ("", str(tmp_path / "token"))


def test_inline_data_wins_over_a_path():
    assert load(kubeconfig(cluster(certificate_authority="/nowhere"))).ca == PEM


def test_another_context_can_be_chosen():
    def change(config: dict[str, Any]) -> None:
        config["contexts"].append({"name": "other", "context": {"cluster": "c"}})

    config = load(kubeconfig(change), context="other")
    assert (config.context, config.namespace, config.token) == ("other", "default", "")


def test_skipping_verification_and_a_proxy_are_reported():
    def change(config: dict[str, Any]) -> None:
        config["clusters"][0]["cluster"] = {
            "server": "https://host/",
            "insecure-skip-tls-verify": True,
            "proxy-url": "http://proxy:3128",
            "tls-server-name": "inside",
        }

    config = load(kubeconfig(change))
    assert config.insecure_skip_tls_verify
    assert (config.server, config.proxy_url, config.tls_server_name) == ("https://host", "http://proxy:3128", "inside")


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "kind": (lambda c: c.update(kind="Pod"), """kind: must be "Config", not 'Pod'"""),
    "apiVersion": (lambda c: c.update(apiVersion="v2"), """apiVersion: must be "v1", not 'v2'"""),
    "no context": (
        lambda c: c.pop("current-context"),
        "current-context: is not set; choose one of the contexts: main",
    ),
    "unknown context": (
        lambda c: c.update({"current-context": "x"}),
        "contexts: has no entry named 'x' (it has: main)",
    ),
    "no contexts": (lambda c: c.pop("contexts"), "contexts: has no entry named 'main' (it has: none)"),
    "contexts no list": (lambda c: c.update(contexts={}), "contexts: must be a list"),
    "nameless entry": (lambda c: c["clusters"].append({}), "clusters[1]: must be a mapping with a name"),
    "no cluster named": (
        lambda c: c["contexts"][0]["context"].pop("cluster"),
        "contexts[0].context.cluster: is required",
    ),
    "unknown cluster": (
        lambda c: c["contexts"][0]["context"].update(cluster="x"),
        "clusters: has no entry named 'x' (it has: c)",
    ),
    "unknown user": (
        lambda c: c["contexts"][0]["context"].update(user="x"),
        "users: has no entry named 'x' (it has: u)",
    ),
    "context no mapping": (lambda c: c["contexts"][0].update(context=[]), "contexts[0].context: must be a mapping"),
    "no server": (lambda c: c["clusters"][0]["cluster"].pop("server"), "clusters[0].cluster.server: is required"),
    "server no text": (cluster(server=7), "clusters[0].cluster.server: must be text, not int"),
    "server no URL": (cluster(server="host:6443"), "clusters[0].cluster.server: must be a URL such as https://"),
    "server whose host no name can be": (cluster(server="https://a..b:1"), "clusters[0].cluster.server: must be a URL"),
    "server name with a zero": (
        cluster(tls_server_name="x\0y"),
        "clusters[0].cluster.tls-server-name: must be a host name or an address",
    ),
    "server name of many letters": (cluster(tls_server_name=300 * "a"), "tls-server-name: must be a host name"),
    "server without host": (cluster(server="https://"), "clusters[0].cluster.server: must be a URL"),
    "server bad port": (cluster(server="https://host:port"), "clusters[0].cluster.server: must be a URL"),
    "authority no base64": (
        cluster(certificate_authority_data="%%%"),
        "clusters[0].cluster.certificate-authority-data: is not valid base64",
    ),
    "authority no PEM": (
        cluster(certificate_authority_data="aGVsbG8="),
        "clusters[0].cluster.certificate-authority-data: holds no PEM block",
    ),
    "authority path gone": (
        cluster(certificate_authority_data=None, certificate_authority="/no/such"),
        "clusters[0].cluster.certificate-authority: file /no/such cannot be read: No such file",
    ),
    "relative path": (
        cluster(certificate_authority_data=None, certificate_authority="ca.pem"),
        "clusters[0].cluster.certificate-authority: relative path ca.pem in a kubeconfig that is not a file",
    ),
    "insecure with authority": (
        cluster(insecure_skip_tls_verify=True),
        "clusters[0].cluster.insecure-skip-tls-verify: must not be true beside a certificate-authority",
    ),
    "insecure no flag": (
        cluster(insecure_skip_tls_verify="yes"),
        "clusters[0].cluster.insecure-skip-tls-verify: must be true or false",
    ),
    "proxy": (cluster(proxy_url="socks5://x:1"), "clusters[0].cluster.proxy-url: must be a URL such as http://"),
    "exec": (user(exec={"command": "aws"}), "users[0].user.exec: exec plugins are not supported here"),
    "auth provider": (user(auth_provider={"name": "gcp"}), "users[0].user.auth-provider: auth providers are not"),
    "password": (user(username="a", password="b"), "users[0].user.username: basic auth is not supported"),
    "impersonation": (lambda c: c["users"][0]["user"].update({"as": "x"}), "users[0].user.as: impersonation is not"),
    "certificate without key": (
        user(client_certificate_data=B64),
        "users[0].user.client-key-data: is required beside a client certificate",
    ),
    "key without certificate": (
        user(client_key_data=B64),
        "users[0].user.client-certificate-data: is required beside a client key",
    ),
    "key no base64": (user(client_certificate_data=B64, client_key_data="!"), "client-key-data: is not valid base64"),
    "token with a newline": (user(token="a\nb"), "users[0].user.token: has characters that cannot stand in"),
    "token no text": (user(token=5), "users[0].user.token: must be text, not int"),
    "token file gone": (
        lambda c: c["users"][0].update(user={"tokenFile": "/no/such"}),
        "users[0].user.tokenFile: file /no/such cannot be read: No such file",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_kubeconfig_names_the_field(case: str):
    change, message = BROKEN[case]
    with pytest.raises(KubeconfigError) as caught:
        load(kubeconfig(change))
    assert str(caught.value).startswith("kubeconfig: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "kubeconfig: is empty"),
        (b"- a\n", "kubeconfig: must be a mapping with clusters, users and contexts"),
        (b"a: [1\nb: }", "kubeconfig: not valid YAML at line 2"),
        (b"\xff\xfe\x00", "kubeconfig: not valid YAML"),
    ],
)
def test_content_that_is_no_kubeconfig(content: bytes, message: str):
    with pytest.raises(KubeconfigError) as caught:
        load(content)
    assert str(caught.value).startswith(message)


def test_a_yaml_error_does_not_quote_the_line():
    with pytest.raises(KubeconfigError) as caught:
        load(b"token: [sesame-token\nx: }")
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(KubeconfigError, match="nothing: cannot be read: No such file"):
        load(tmp_path / "nothing")


def test_in_cluster(tmp_path: Path):
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_bytes(PEM)
    (tmp_path / "namespace").write_text("fedhub-system\n")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = in_cluster(environment, tmp_path)
    assert (config.server, config.namespace, config.ca) == ("https://[fd00::1]:443", "fedhub-system", PEM)
    assert config.token_file == str(tmp_path / "token")


def test_outside_a_cluster_the_message_helps(tmp_path: Path):
    with pytest.raises(KubeconfigError, match="outside a pod name a kubeconfig file"):
        in_cluster({}, tmp_path)

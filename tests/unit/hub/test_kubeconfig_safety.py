"""What a worker's credential may not contain, and in which words it is refused."""

import pytest
import yaml

from hub.clusters import kubeconfig_path, kubeconfig_safety
from hub.clusters.kubeconfig_path import RefusedPath
from hub.clusters.kubeconfig_safety import ClientSettings, InsecureKubeconfig


def content(*, user=None, cluster=None, **top):
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t", **(user or {})}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}],
        **top,
    }
    return yaml.safe_dump(document).encode()


def test_a_plain_credential_is_accepted():
    kubeconfig_safety.check(content())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"user": {"tokenFile": "/t"}}, "tokenFile is not allowed"),
        (
            {"cluster": {"insecure-skip-tls-verify": True}},
            "insecure TLS verification is not allowed for cluster k",
        ),
        (
            {"cluster": {"certificate-authority": "/ca"}},
            "certificate-authority file paths are not allowed, use certificate-authority-data for cluster k",
        ),
        ({"cluster": {"server": ""}}, "server URL is required for cluster k"),
        ({"cluster": {"server": "https://bad_name:1"}}, "untrusted server endpoint"),
        ({"cluster": {"server": "10.0.0.1:6443"}}, "untrusted server endpoint"),
        ({"user": {"username": "admin"}}, "basic auth is not allowed"),
        ({"user": {"exec": {"command": "aws"}}}, "exec plugins are not allowed"),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "auth providers are not allowed"),
        (
            {"current-context": "other"},
            'failed to parse kubeconfig(restconfig): context "other" does not exist',
        ),
    ],
)
def test_what_is_refused_says_why(changed, message):
    with pytest.raises(InsecureKubeconfig) as refused:
        kubeconfig_safety.check(content(**changed))
    assert str(refused.value) == message


def test_users_and_clusters_beside_the_current_ones_are_looked_at_too():
    document = yaml.safe_load(content())
    document["users"].append({"name": "other", "user": {"tokenFile": "/t"}})
    with pytest.raises(InsecureKubeconfig, match="tokenFile"):
        kubeconfig_safety.check(yaml.safe_dump(document).encode())


@pytest.mark.parametrize("raw", [b"{", b"- a\n- list", b"users: 7"])
def test_what_is_no_kubeconfig_is_a_parsing_failure(raw):
    with pytest.raises(InsecureKubeconfig, match=r"^failed to parse kubeconfig\(apiconfig\): "):
        kubeconfig_safety.check(raw)


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("https://10.0.0.1", True),
        ("https://API.Example.com:6443", True),
        ("https://[::1]:6443", True),
        ("https://[::1]", False),
        ("10.0.0.1", False),
        ("https://-x.example", False),
        ("https://", False),
    ],
)
def test_only_addresses_and_dns_names_are_trusted(url, trusted):
    assert kubeconfig_safety.is_trusted(url) is trusted


def test_a_provider_may_run_a_plugin_but_not_read_a_token_file():
    kubeconfig_safety.check_settings(ClientSettings("https://10.0.0.1", has_exec=True), exec_allowed=True)
    with pytest.raises(InsecureKubeconfig, match=r"^bearerTokenFile is not allowed$"):
        kubeconfig_safety.check_settings(ClientSettings("https://10.0.0.1", bearer_token_file="/t"))


def test_a_path_must_lie_inside_the_prefix_also_after_links(tmp_path):
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    allowed.mkdir()
    outside.write_text("x")
    (allowed / "good").write_text("x")
    (allowed / "link").symlink_to(outside)
    kubeconfig_path.validate(str(allowed / "good"), allowed)
    for location in (str(allowed / "link"), str(outside), "relative", f"{allowed}-sibling/x", f"{allowed}/../outside"):
        with pytest.raises(RefusedPath):
            kubeconfig_path.validate(location, allowed)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "kubeconfig path must not be empty"),
        ("relative/path", "kubeconfig path is not under the allowed prefix: relative/path"),
    ],
)
def test_a_refused_path_says_why(location, message, tmp_path):
    with pytest.raises(RefusedPath) as refused:
        kubeconfig_path.validate(location, tmp_path)
    assert str(refused.value) == message


def test_a_path_that_leads_nowhere_says_so(tmp_path):
    with pytest.raises(RefusedPath, match=r"^cannot resolve kubeconfig path symlinks: "):
        kubeconfig_path.validate(str(tmp_path / "missing"), tmp_path)

"""What stands in the options of ``fedhub kueue``: read whole, or refused by a line that names option and remedy."""

import os

import pytest
from typer.testing import CliRunner

from hub.cli import app
from hub.cli.kueue import flavor_flags, quota_flags
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import Table
from worker_agent.kube.kubeconfig import KubeconfigError


def test_flavors_with_the_same_resources_are_one_group():
    groups = quota_flags.resource_groups(
        ["a:cpu=1;memory=2Gi", "b:memory=1Gi;cpu=3,c:gpu=1"], ["a:cpu=2;memory=1Gi"], []
    )
    assert [group["coveredResources"] for group in groups] == [["cpu", "memory"], ["gpu"]]
    assert [flavor["name"] for flavor in groups[0]["flavors"]] == ["a", "b"]
    assert groups[0]["flavors"][0]["resources"][0] == {"name": "cpu", "nominalQuota": "1", "borrowingLimit": "2"}
    assert [each["name"] for each in groups[0]["flavors"][1]["resources"]] == ["cpu", "memory"]


def test_a_limit_without_a_nominal_quota_counts_from_nothing():
    (group,) = quota_flags.resource_groups([], ["a:cpu=2"], ["a:cpu=0"])
    resource = {"name": "cpu", "nominalQuota": "0", "borrowingLimit": "2", "lendingLimit": "0"}
    assert group["flavors"][0]["resources"] == [resource]


@pytest.mark.parametrize(
    ("nominal", "borrowing", "told"),
    [
        (["cpu=9"], [], "--nominal-quota: invalid resources specification 'cpu=9'"),
        (["a:cpu"], [], "--nominal-quota: invalid resources specification 'a:cpu'"),
        (["a:" + 60 * "c"], [], "--nominal-quota: invalid resources specification 'a:ccc"),
        (["A:cpu=1"], [], "invalid resources specification"),
        (["a:cpu=lots"], [], "--nominal-quota: invalid resource quota: "),
        (["a:cpu=1"], ["a:memory=1"], "--borrowing-limit: invalid flavor 'a': it has the resources cpu and memory"),
        (["a:cpu=1;memory=1,b:cpu=1"], [], "invalid resource group: cpu of flavor 'b' is in another group"),
    ],
)
def test_quota_that_cannot_be_read(nominal, borrowing, told):
    with pytest.raises(quota_flags.QuotaFlagError, match=told):
        quota_flags.resource_groups(nominal, borrowing, [])


@pytest.mark.parametrize(
    ("taint", "told"),
    [
        ("key", "--node-taints: invalid taint spec: key, write"),
        ("key=a=b:NoSchedule", "invalid taint spec"),
        ("key:NoSchedule:x", "invalid taint spec"),
        ("key:Sometimes", "invalid taint effect: Sometimes, unsupported taint effect"),
        ("@:NoSchedule", "invalid taint spec: @:NoSchedule, name part"),
        ("a:NoSchedule,a=b:NoSchedule", "duplicated taints with the same key and effect"),
    ],
)
def test_taint_that_is_none(taint, told):
    with pytest.raises(flavor_flags.FlavorFlagError, match=told):
        flavor_flags.taints([taint])


@pytest.mark.parametrize("toleration", ["=value", "=value:NoSchedule", "a=b=c", "key:Sometimes", "key=@"])
def test_toleration_that_is_none(toleration):
    with pytest.raises(flavor_flags.FlavorFlagError, match="--tolerations"):
        flavor_flags.tolerations([toleration])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "cq", "q", "--nominal-quota", "x"), "--nominal-quota"),
        (("create", "cq", "q", "--namespace-selector", "x"), "must be formatted as key=value"),
        (("create", "rf", "f", "--node-taints", "x"), "--node-taints"),
        (("create", "rf", "f", "--dry-run", "perhaps"), "perhaps"),
        (("create", "lq", "q"), "--clusterqueue"),
        (("list", "cq", "--active", "true", "--active", "false"), "only one active flag can be provided"),
        (("list", "cq", "--active", "perhaps"), "must be true or false"),
        (("list", "workload", "--status", "lost"), "lost"),
        (("list", "pods"), "--for"),
        (("list", "cq", "-o", "xml"), 'unable to match a printer suitable for "xml"'),
        (("list", "cq", "--as-group", "g"), "--as-group, --as-uid and --as-user-extra need --as"),
        (("list", "cq", "--request-timeout", "soon"), "--request-timeout"),
        (("list", "cq", "--kubeconfig", "nowhere"), "nowhere: cannot be read"),
        (("--context", "none", "list", "cq"), "has no entry named 'none'"),
    ],
)
def test_wrong_use_ends_with_2(arguments, told, tmp_path, monkeypatch):
    config = tmp_path / "config"
    config.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(config))
    done = CliRunner().invoke(app, ["kueue", *arguments])
    assert done.exit_code == 2, done.output
    assert told in done.output
    assert "Traceback" not in done.output


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: one, user: me, namespace: team}}
clusters:
- {name: one, cluster: {server: "https://one:6443"}}
- {name: two, cluster: {server: "https://two:6443"}}
users:
- {name: me, user: {token: mine}}
- {name: other, user: {token: theirs}}
"""
SECOND = """
kind: Config
current-context: far
contexts: [{name: far, context: {cluster: far, user: me}}]
clusters: [{name: far, cluster: {server: "https://far:6443", certificate-authority: ca.crt}}]
users: [{name: me, user: {token: hidden by the first}}]
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "a").write_text(KUBECONFIG)
    (tmp_path / "b").write_text(SECOND)
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\n")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'a'}:{tmp_path / 'none'}:{tmp_path / 'b'}")
    return tmp_path


def test_several_kubeconfigs_are_one(files):
    assert Connection().config().server == "https://one:6443"
    far = Connection(context="far").config()
    assert (far.server, far.token, far.ca) == ("https://far:6443", "mine", b"-----BEGIN CERTIFICATE-----\n")


def test_options_stand_before_the_file(files):
    found = Connection(cluster="two", user="other", namespace="n").config()
    assert (found.server, found.token, found.namespace) == ("https://two:6443", "theirs", "n")
    found = Connection(server="https://x", token="own", tls_server_name="y", insecure_skip_tls_verify=True).config()
    assert (found.server, found.token, found.tls_server_name) == ("https://x", "own", "y")
    assert found.insecure_skip_tls_verify


def test_certificate_without_its_key_is_refused(files):
    with pytest.raises(KubeconfigError, match="--client-certificate and --client-key go together"):
        Connection(client_certificate="c").config()


def test_without_any_kubeconfig_it_says_where_it_looked(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(KubeconfigError, match=r"there is no kubeconfig \(--kubeconfig, KUBECONFIG, ~/.kube/config\)"):
        Connection().config()


def test_options_as_kubectl_takes_them():
    told = Connection(namespace="n", as_user="u", as_group=["a", "b"], insecure_skip_tls_verify=True).flags()
    assert told == ["--namespace=n", "--as=u", "--as-group=a", "--as-group=b", "--insecure-skip-tls-verify"]


def test_table_is_spaced_as_kubectl_does(capsys):
    Table(("name", "x", "age"), [["a", "", "5s"]]).show(headings=False)
    Table(("name", "node labels", "age"), [["abcdef", "", "5s"]], ["ns"]).show()
    assert capsys.readouterr().out.splitlines() == [
        "a           5s",
        "NAMESPACE   NAME     NODE LABELS   AGE",
        "ns          abcdef                 5s",
    ]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["--server", "host:6443"], "--server: 'host:6443': must be a URL such as https://host:port"),
        (["--server", "https://host:port"], "--server: 'https://host:port': must be a URL"),
        (["--server", "https://a b"], "--server: 'https://a b': must be a URL"),
        (["--token", "two words"], "--token: has characters that cannot stand in an HTTP header"),
        (["--token", "t\nX-Remote-User: admin"], "--token: has characters"),
        (["--as", "eve\r\nX: y"], "--as: has characters that cannot stand in an HTTP header"),
        (["--certificate-authority", os.devnull], "--certificate-authority: /dev/null: holds no PEM block"),
    ],
)
def test_connection_that_cannot_be_made_is_told_by_its_option(typed, told, monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    whole = ["kueue", "list", "cq", *([] if "--server" in typed else ["--server", "https://127.0.0.1:1"]), *typed]
    result = CliRunner().invoke(app, whole)
    message = " ".join(result.stderr.split())
    assert (result.exit_code, told in message) == (2, True), message
    assert "Remote-User" not in message

"""Credential plugins in a user's own kubeconfig: read as kubectl reads them, run by commands alone."""

import json
import sys
from pathlib import Path

import pytest

from tests.unit.kube.test_kubeconfig import GOOD, PEM, cluster, kubeconfig, user
from worker_agent.kube import exec_plugin, exec_transport, kubeconfig_files
from worker_agent.kube.exec_plugin import Terminal
from worker_agent.kube.exec_transport import ExecTransport
from worker_agent.kube.kubeconfig import Choice, KubeconfigError, load

V1 = "client.authentication.k8s.io/v1"
OWN = Choice(exec_plugins=True)


def plugin(**fields):
    stanza = {"apiVersion": V1, "command": "aws", "interactiveMode": "Never", **fields}
    return {"token": None, "exec": {name: value for name, value in stanza.items() if value is not None}}


def test_all_of_a_plugin_is_read():
    fields = plugin(
        args=["get-token"], env=[{"name": "A", "value": "b"}], installHint="get it", provideClusterInfo=True
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}

    def change(config):
        user(**fields)(config)
        cluster(extensions=[extension])(config)

    found = load(kubeconfig(change), OWN).exec_plugin
    assert (found.command, found.args, found.environment) == ("aws", ("get-token",), (("A", "b"),))
    assert (found.install_hint, found.terminal) == ("get it", Terminal.TOLD)
    told = json.loads(found.cluster)
    assert (told["server"], told["config"]) == ("https://host:6443", {"audience": "x"})
    assert told["certificate-authority-data"] == GOOD["clusters"][0]["cluster"]["certificate-authority-data"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, r"exec\.apiVersion: must be one of client"),
        ({"command": None}, r"exec\.command: is required"),
        ({"interactiveMode": None}, r"exec\.interactiveMode: must be one of Never, IfAvailable, Always"),
        ({"interactiveMode": "Always"}, r"exec\.interactiveMode: is Always, and standard input is not a terminal"),
        ({"args": [1]}, r"exec\.args: must be a list of texts"),
        ({"env": [{"value": "x"}]}, r"exec\.env\[0\]: must have a name"),
        ({"env": "A=b"}, r"exec\.env: must be a list"),
    ],
    ids=["version", "command", "mode", "always", "args", "nameless", "env"],
)
def test_what_is_wrong_is_named(fields, problem, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(KubeconfigError, match=rf"users\[0\]\.user\.{problem}"):
        load(kubeconfig(user(**plugin(**fields))), OWN)


def test_the_older_version_needs_no_mode():
    fields = plugin(apiVersion=f"{V1}beta1", interactiveMode=None)
    assert load(kubeconfig(user(**fields)), OWN).exec_plugin.command == "aws"


def test_a_terminal_is_asked_where_there_is_one(monkeypatch):
    class Typed:
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Typed())
    found = load(kubeconfig(user(**plugin(interactiveMode="IfAvailable"))), OWN).exec_plugin
    assert found.terminal is Terminal.ASKED
    assert json.loads(exec_plugin.request(found))["spec"]["interactive"] is True


def test_a_token_in_the_file_is_used_without_a_plugin():
    config = load(kubeconfig(user(**plugin() | {"token": "sesame"})), OWN)
    assert (config.token, config.exec_plugin) == ("sesame", None)


@pytest.mark.parametrize("several", [False, True], ids=["one file", "several files"])
def test_a_command_with_a_path_is_relative_to_the_file(tmp_path: Path, several):
    (tmp_path / "config").write_bytes(kubeconfig(user(**plugin(command="./login"))))
    source = kubeconfig_files.merged([tmp_path / "config"]) if several else tmp_path / "config"
    assert Path(load(source, OWN).exec_plugin.command) == tmp_path / "login"


def test_only_a_users_own_file_starts_a_program():
    with pytest.raises(KubeconfigError, match="exec plugins are not supported here"):
        load(kubeconfig(user(**plugin())))


async def test_commands_connect_with_what_the_plugin_says(tmp_path: Path):
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": "t"}}
    fields = plugin(command=sys.executable, args=["-c", f"print('''{json.dumps(answer)}''')"])
    config = load(kubeconfig(user(**fields)), OWN)
    assert isinstance(exec_transport.connect(config), ExecTransport)
    assert (await exec_plugin.run(config.exec_plugin)).token == "t"
    assert config.ca == PEM

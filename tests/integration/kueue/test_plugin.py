"""``kubectl fedhub``, as kubectl finds and completes it."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hub.cli import kubectl_plugin
from tests.integration.kueue.conftest import Kueue
from tests.integration.kueue.test_stopping import put
from tests.local_federation import KUBECTL
from tests.realcluster.clusters import Server
from worker_agent.api.resource_type import LOCAL_QUEUES

ROOT = Path(__file__).parents[3]
NOBODY = {"token": "anybody"}
"""Embedded servers ask nobody who they are."""


def completions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *typed: str) -> list[str]:
    for variable in ("_FEDHUB_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(variable, "")  # put back at the end: it makes a command print what may follow it
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-fedhub", *typed])
    kubectl_plugin.complete()
    *names, directive = capsys.readouterr().out.split()
    assert directive == ":4"
    return names


def test_names_of_the_server_are_offered(kueue: Kueue, capsys, monkeypatch) -> None:
    queue = put(kueue, "clusterqueue")
    kueue.put(LOCAL_QUEUES, "runs", spec={"clusterQueue": "q"})
    kueue.put(LOCAL_QUEUES, "held", spec={"clusterQueue": "q", "stopPolicy": "Hold"})
    workload = put(kueue, "workload")

    def offered(*typed: str) -> list[str]:
        return completions(capsys, monkeypatch, "kueue", *typed)

    here = ("-n", kueue.namespace)
    assert offered("create", "lq", "x", "-c", queue[:-1]) == [queue]
    assert offered("stop", "localqueue", *here, "") == ["runs"]
    assert offered("resume", "localqueue", *here, "") == ["held"]
    assert offered("list", "workload", *here, "-q", "") == ["held", "runs"]
    assert offered(*here, "delete", "workload", "") == [workload]
    assert offered("get", "workload", *here, "") == [workload]
    assert kueue.namespace in offered("list", "workload", "-n", "t")


def test_server_that_is_away_offers_nothing(kueue: Kueue, capsys, monkeypatch) -> None:
    assert completions(capsys, monkeypatch, "kueue", "-s", "https://127.0.0.1:1", "stop", "cq", "") == []


def test_kubectl_runs_it(server: Server, kueue: Kueue, tmp_path: Path) -> None:
    plugin = tmp_path / "kubectl-fedhub"
    plugin.write_text(f"#!{sys.executable}\nfrom hub.cli import kubectl_plugin\nkubectl_plugin.main()\n")
    plugin.chmod(0o755)
    kueue.put(LOCAL_QUEUES, "runs", spec={"clusterQueue": "q"})
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{Path(KUBECTL).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "KUBECONFIG": str(server.kubeconfig_file),
    }

    def said(*arguments: str) -> tuple[int, str]:
        command = [KUBECTL, "fedhub", "kueue", *arguments, "-n", kueue.namespace]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout

    assert said("list", "lq", "-o", "name") == (0, "localqueue.kueue.x-k8s.io/runs\n")
    assert said("get", "lq", "-o", "name") == (0, "localqueue.kueue.x-k8s.io/runs\n")
    assert said("get", "lq", "none")[0] == 1


@pytest.mark.parametrize("answers", [True, False], ids=["it answers", "it is not there"])
def test_login_by_a_credential_plugin_of_the_users_own(
    server: Server, kueue: Kueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    config = yaml.safe_load(server.kubeconfig_file.read_text())
    (user,) = config["users"]
    given = {"token": user["user"].get("token", "")}
    for field, name in (("clientCertificateData", "client-certificate-data"), ("clientKeyData", "client-key-data")):
        given[field] = base64.b64decode(user["user"].get(name, "")).decode()
    version = "client.authentication.k8s.io/v1"
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": given if any(given.values()) else NOBODY}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    command = {"command": "cat", "args": [str(tmp_path / "answer.json")]} if answers else {"command": "no-such-login"}
    hint = {"installHint": "install it from https://example.org", "interactiveMode": "IfAvailable"}
    user["user"] = {"exec": {"apiVersion": version, **command, **hint}}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    queue = put(kueue, "clusterqueue")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    result = kueue.run("list", "clusterqueue")
    if answers:
        assert (result.exit_code, queue in result.stdout) == (0, True), result.stderr
        return
    told = " ".join(result.stderr.split())
    assert result.exit_code == 1
    assert "executable no-such-login not found; install it from https://example.org" in told

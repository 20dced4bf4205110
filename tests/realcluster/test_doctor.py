"""``fedhub doctor`` reads real servers: a cluster with definitions and nothing else."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cluster_choice import EMBEDDED
from tests.realcluster.clusters import Server

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(900)  # the first test waits for both servers


@pytest.mark.parametrize("which", [0, 1], ids=["embedded", "real"])
def test_a_cluster_without_an_agent(which: int, servers: tuple[Server, Server]) -> None:
    server = servers[which]
    code, told = doctor(server, "--agent")
    assert (code, told["ok"]) == (1, False)
    problems = {
        (check["check"], finding["about"]): finding["problem"]
        for check in told["checks"]
        for finding in check["findings"]
    }
    assert "is not installed" in problems["program", "deployment/fedhub-system/fedhub-agent"]
    assert "there is no such configuration" in problems["webhooks", "mutatingwebhook/fedhub-agent"]
    assert not any(about == "cluster/this" for _, about in problems), "its clock is ours, and all may be read"
    rights = [problem for (check, _), problem in problems.items() if check == "rights"]
    assert bool(rights) == (server.sort != EMBEDDED), "the embedded server grants everything"


@pytest.mark.parametrize("which", [0, 1], ids=["embedded", "real"])
def test_a_manager_without_workers(which: int, servers: tuple[Server, Server]) -> None:
    code, told = doctor(servers[which], "--namespace", "default")
    assert code == 1
    assert {check["cluster"] for check in told["checks"]} == {"manager"}


def test_a_server_that_is_away_is_one_line(tmp_path: Path) -> None:
    config = tmp_path / "config"
    text = (
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],"
        " clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]}"
    )
    config.write_text(text)
    done = run(config)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the API server cannot be reached")
    assert "Traceback" not in done.stderr


def doctor(server: Server, *arguments: str) -> tuple[int, Any]:
    done = run(server.kubeconfig_file, *arguments, "-o", "json")
    assert done.stdout, done.stderr
    return done.returncode, msgspec.json.decode(done.stdout)


def run(config: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "hub.cli", "doctor", "--kubeconfig", str(config), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)

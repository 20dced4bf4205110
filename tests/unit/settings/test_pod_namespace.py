"""In a pod the program works in the pod's own namespace, unless it is told another."""

import pytest

from worker_agent import settings_source
from worker_agent.settings import AgentSettings
from worker_agent.settings_source import load


@pytest.fixture(autouse=True)
def pod(tmp_path, monkeypatch):
    file = tmp_path / "namespace"
    file.write_text("queueing\n")
    monkeypatch.setattr(settings_source, "POD_NAMESPACE", file)


def test_a_pod_knows_its_namespace():
    assert load(AgentSettings, None).namespace == "queueing"


def test_the_file_wins(tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text("namespace: told\n")
    assert load(AgentSettings, path).namespace == "told"


def test_the_environment_wins(monkeypatch):
    monkeypatch.setenv("FEDHUB_NAMESPACE", "told")
    assert load(AgentSettings, None).namespace == "told"

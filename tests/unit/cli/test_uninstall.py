"""``fedhub-agent uninstall`` asks about a cluster that there is, and names it."""

import pytest
from typer.testing import CliRunner

from worker_agent.cli import app

KUBECONFIG = (
    "{apiVersion: v1, kind: Config, current-context: oregon, contexts: [{name: oregon, context: {cluster: c}}],"
    " clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]}"
)


def uninstall(*arguments, answer):
    return CliRunner().invoke(app, ["uninstall", *map(str, arguments)], input=answer)


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return path


def test_a_context_that_is_not_there_is_told_before_anything_is_asked(kubeconfig):
    result = uninstall("--kubeconfig", kubeconfig, "--context", "nowhere", answer="y\n")
    assert result.exit_code == 2
    assert "nowhere" in result.output
    assert "for good?" not in result.output


def test_a_kubeconfig_that_is_not_there_is_told_before_anything_is_asked(tmp_path):
    result = uninstall("--kubeconfig", tmp_path / "none", answer="y\n")
    assert (result.exit_code, "for good?" in result.output) == (2, False)


def test_the_question_names_the_cluster_and_a_no_ends_it(kubeconfig):
    result = uninstall("--kubeconfig", kubeconfig, answer="n\n")
    assert result.exit_code == 1
    assert "namespace fedhub-system of oregon (https://127.0.0.1:1), for good?" in result.output

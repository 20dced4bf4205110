"""What a user gets for a wrong command line or wrong settings: one clear line and exit code 2, never a traceback."""

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from hub.cli import app as hub_app
from hub.cli import output
from worker_agent.api.program_version import VERSION
from worker_agent.cli import app as agent_app


def run(app, *arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(("app", "name"), [(hub_app, "fedhub"), (agent_app, "fedhub-agent")])
def test_version(app, name):
    result = run(app, "--version")
    assert (result.exit_code, result.output) == (0, f"{name} {VERSION}\n")


def test_help_names_every_command():
    shown = run(hub_app, "--help").output
    assert all(command in shown for command in ("run", "demo", "up", "down", "status"))


@pytest.mark.parametrize("app", [hub_app, agent_app], ids=["fedhub", "fedhub-agent"])
class TestWrongSettings:
    def refused(self, app, *arguments):
        result = run(app, "run", *arguments)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        return result.output

    def test_unknown_setting(self, app, tmp_path):
        path = tmp_path / "c.yaml"
        path.write_text("metricss: {}")
        assert "metricss: unknown setting; known here:" in self.refused(app, "--config", str(path))

    def test_missing_file(self, app):
        assert "No such file or directory; name a readable file with --config" in self.refused(
            app, "--config", "none.yaml"
        )

    def test_malformed_feature_gates(self, app):
        assert "--feature-gates: 'PartialAdmission': must be name=true or name=false" in self.refused(
            app, "--feature-gates", "PartialAdmission"
        )

    def test_feature_gate_that_is_no_boolean(self, app):
        assert "featureGates.PartialAdmission: 'maybe': must be a valid boolean" in self.refused(
            app, "--feature-gates", "PartialAdmission=maybe"
        )

    def test_feature_gates_in_two_places(self, app, tmp_path):
        path = tmp_path / "c.yaml"
        path.write_text("featureGates: {PartialAdmission: false}")
        shown = self.refused(app, "--config", str(path), "--feature-gates", "PartialAdmission=true")
        assert "feature gates for CLI and configuration cannot both specified" in shown

    def test_unknown_feature_gate(self, app, tmp_path, monkeypatch):
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path)))
        assert "NoSuchGate" in self.refused(app, "--feature-gates", "NoSuchGate=true")

    def test_broken_kubeconfig(self, app, tmp_path):
        path = tmp_path / "kubeconfig"
        path.write_text("clusters: 3")
        assert str(path) in self.refused(app, "--kubeconfig", str(path))


def kubeconfig(folder):
    path = folder / "kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    return path


def test_status_without_federation_says_how_to_start_one(tmp_path):
    result = run(hub_app, "status", "--state", str(tmp_path))
    assert result.exit_code == 1
    assert "start one with: fedhub up" in result.output


def test_down_without_federation_is_fine(tmp_path):
    assert run(hub_app, "down", "--state", str(tmp_path)).exit_code == 0


def test_demo_with_a_wrong_description_names_the_file(tmp_path):
    (tmp_path / "federation.yaml").write_text("manager: {}")
    result = run(hub_app, "demo", "--manifests", str(tmp_path))
    assert result.exit_code == 2
    assert "federation.yaml" in result.output


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_state_folder_that_cannot_be_made_is_one_line(command, tmp_path):
    (tmp_path / "file").write_text("")
    result = run(hub_app, command, "--state", str(tmp_path / "file"))
    assert result.exit_code == 1
    assert f"error: --state {tmp_path / 'file'}: File exists; name a folder that can be written" in result.output


def test_number_of_jobs_has_limits():
    assert run(hub_app, "demo", "--jobs", "0").exit_code == 2


def test_a_table_keeps_its_columns_on_a_narrow_terminal(monkeypatch):
    shown = io.StringIO()
    screen = Console(file=shown, force_terminal=True, width=60, color_system=None)
    monkeypatch.setattr(output, "terminal", lambda: screen)
    output.table(["job", "ran", "why"], [["train-001", "4s", "oregon: fits now in large; tokyo: fits now in spot"]])
    row = shown.getvalue().splitlines()[-2]
    assert row.split()[:2] == ["train-001", "4s"]
    assert row.rstrip().endswith("…")

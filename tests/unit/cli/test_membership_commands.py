"""Wrong use of the commands for workers that dial in: one clear line and exit code 2, and no server is asked."""

import pytest
from typer.testing import CliRunner

from hub.cli import app as hub_app
from worker_agent.cli import app as agent_app

PIN = "sha256:" + "0" * 64
JOIN = ("join", "oregon", "--ca-pin", PIN, "--token", "abcd1234." + "x" * 43)


def refused(app, *arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("oregon",), "give --hub https://host:port, or --config with federation.agents.addresses"),
        (("oregon", "--hub", "http://hub:1"), "--hub http://hub:1: must be https://host:port"),
        (("Oregon", "--hub", "https://hub:1"), "CLUSTER: 'Oregon': a name is made of lower case letters"),
        (("oregon", "--hub", "https://hub:1", "--token-lifetime", "0s"), "--token-lifetime: 0s: must be more than 0s"),
        (("oregon", "--hub", "https://hub:1", "--token-lifetime", "5x"), "--token-lifetime: '5x' is no duration"),
        (("oregon", "--hub", "https://hub:1", "--kubeconfig", "none"), "none"),
    ],
)
def test_enroll(arguments, told):
    assert told in refused(hub_app, "enroll", *arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--hub", "hub.example"), "--hub hub.example: must be https://host:port"),
        (("--hub", "https://hub:many"), "--hub https://hub:many: must be https://host:port"),
        (("--hub", "https://hub:1", "--kubeconfig", "none"), "none"),
    ],
)
def test_join(arguments, told):
    assert told in refused(agent_app, *JOIN, *arguments)


@pytest.mark.parametrize(
    ("pin", "told"),
    [
        ("sha256:0", "this one has 1 characters after sha256:"),
        (PIN[:-1] + "é", "this one has other characters"),
        ("s3cr3t", "this one does not begin with sha256:"),
        ("", "this one does not begin with sha256:"),
    ],
)
def test_join_says_what_a_pin_is_and_does_not_repeat_what_may_be_a_secret(pin, told):
    shown = refused(agent_app, "join", "oregon", "--hub", "https://hub:1", "--token", "t", "--ca-pin", pin)
    assert "--ca-pin: must be sha256: and 64 hexadecimal digits" in shown
    assert told in shown
    assert not pin or pin not in shown


@pytest.mark.parametrize("command", ["cordon", "uncordon", "drain", "declare-lost"])
def test_cluster_commands_need_a_cluster(command):
    assert "CLUSTER" in refused(hub_app, "cluster", command)


def test_hub_that_serves_agents_must_say_where(tmp_path):
    path = tmp_path / "hub.yaml"
    path.write_text("federation: {agents: {bindAddress: ':8444'}}")
    assert "addresses must name at least one https://host:port" in refused(hub_app, "run", "--config", str(path))


def test_rule_of_the_allow_list_must_be_one(tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text("hubTunnel: {additionalRules: [{resource: '*', verbs: [get]}]}")
    assert "hubTunnel" in refused(agent_app, "run", "--config", str(path))

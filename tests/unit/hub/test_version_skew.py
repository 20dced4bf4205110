"""How far the versions of hub and agent may be apart, and what follows."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from hub.controllers.cluster_controller import agent_version
from hub.engine import version_skew
from hub.engine.evaluation import Outlook
from hub.engine.version_skew import Skew
from tests.unit.hub import knowledge
from tests.unit.hub.knowledge import request, worker
from tests.unit.hub.test_judging import Office
from worker_agent.api import program_version


def test_the_version_is_that_of_the_distribution():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] == program_version.VERSION


@pytest.mark.parametrize(
    ("agent", "skew"),
    [
        ("1.5.0", Skew.WITHIN),
        ("1.5.9", Skew.WITHIN),
        ("1.6.0-rc1", Skew.WITHIN),
        ("v1.3.2", Skew.WITHIN),
        ("1.2.9", Skew.TOO_OLD),
        ("0.9.0", Skew.TOO_OLD),
        ("1.7.0", Skew.TOO_NEW),
        ("2.5.0", Skew.TOO_NEW),
        ("main", Skew.UNREADABLE),
        ("1.5.0; drop", Skew.UNREADABLE),
        ("", Skew.WITHIN),
    ],
)
def test_window(agent, skew):
    assert version_skew.judge(agent, "1.5.1").skew is skew


def test_message_names_both_and_the_remedy():
    told = version_skew.judge("1.2.0", "1.5.1").message
    assert told.startswith("Agent 1.2.0 is too old for hub 1.5.1, which works with agents 1.3 to 1.6: upgrade the")
    assert "as Kueue sends them" in told


@pytest.mark.parametrize(
    ("report", "version"), [(b"", ""), (b"{", ""), (b'{"status":{"agentVersion":"1.2.3"}}', "1.2.3")]
)
def test_version_out_of_a_report(report, version):
    assert agent_version(report) == version


def told_by(agent: str, engine: str = "fedhub-1"):
    report = msgspec.json.decode(knowledge.report("a", 4, engine=engine).raw)
    report["status"]["agentVersion"] = agent
    office = Office(*worker("a", cpu=4), knowledge.event("a", "clustercapacities", report))
    (found,) = office.ask(request("a", cpu=3))
    return Outlook(found.outlook), found.reason, found.exact


def test_inside_the_window_another_engine_is_advisory():
    assert told_by("0.1.7") == (Outlook.FITS, "QuotaReserved", True)
    assert told_by("0.2.0", engine="fedhub-2") == (Outlook.FITS, "QuotaReserved", False)


def test_outside_of_the_window_nothing_is_concluded():
    assert told_by("3.0.0") == (Outlook.UNKNOWN, "AgentTooNew", False)

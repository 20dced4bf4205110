"""Alerts and dashboards name metrics that the programs have, with labels that these have."""

import ast
import json
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry

from hub.app import metric_table
from hub.metrics import HubMetrics
from worker_agent.metrics import AgentMetrics

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "manifests" / "components" / "monitoring"
NAME = re.compile(r"\b(?:kueue|fedhub|multikueue|leader_election)_[a-z_]+\b")
SELECTOR = re.compile(r"\{([^{}]*)\}")
LABEL = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)")
SUM = re.compile(r"\bsum (?:by \([^()]*\) )?\((\w+)(\{[^{}]*\})?\)")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^()]*)\)")
SCRAPED = {"namespace", "job", "instance", "pod", "service", "le"}
"""Labels that Prometheus adds, and that of a histogram's buckets."""


def metrics() -> set[str]:
    """All names that a scrape may show: of the registries, and the gauges that are computed at the scrape."""
    registry = CollectorRegistry()
    agent = AgentMetrics(registry)
    agent.built({"git_version": "v0"})
    HubMetrics(registry)
    names = {name for family in registry.collect() for name in (family.name, *_samples(family.name, family.type))}
    for path in (ROOT / "worker_agent" / "app").glob("*gauges.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "gauge":
                names.add(f"kueue_{ast.literal_eval(node.args[0])}")
    return names | {row.name for row in metric_table.rows() if row.name.startswith("leader_election_")}


def _samples(name: str, kind: str) -> list[str]:
    return {"counter": [f"{name}_total"], "histogram": [f"{name}_bucket", f"{name}_sum", f"{name}_count"]}.get(kind, [])


def alerts() -> list[dict]:
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> list[str]:
    found = [rule["expr"] for rule in alerts()]
    for path in sorted((MONITORING / "dashboards").glob("*.json")):
        board = json.loads(path.read_text())
        found += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        found += [variable["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    return found


@pytest.mark.parametrize("expression", expressions())
def test_metrics_exist(expression):
    named = set(NAME.findall(expression))
    assert named
    assert named <= metrics()


@pytest.mark.parametrize("expression", expressions())
def test_labels_exist(expression):
    """Every label that is selected or grouped by is one of the metrics of that expression, or the scrape's."""
    known = SCRAPED.union(*(labels_of(name) for name in NAME.findall(expression)))
    selected = {label for chosen in SELECTOR.findall(expression) for label in LABEL.findall(chosen)}
    grouped = {label.strip() for names in GROUPING.findall(expression) for label in names.split(",") if label.strip()}
    assert selected | grouped <= known


def labels_of(name: str) -> set[str]:
    family = re.sub(r"_(bucket|sum|count)$", "", name)
    return {label for row in metric_table.rows() if row.name in (name, family) for label in row.labels}


@pytest.mark.parametrize("expression", expressions())
def test_sums_of_gauges_leave_out_what_followers_see_of_the_same_things(expression):
    told_by_each = {row.name for row in metric_table.rows() if row.type == "gauge" and "replica_role" in row.labels}
    for name, chosen in SUM.findall(expression):
        assert name not in told_by_each or 'replica_role!="follower"' in chosen, name


def test_a_leader_that_has_had_nothing_to_decide_yet_is_one():
    """Counters of decisions have no series then; whether it holds the lease it tells from the start."""
    (rule,) = [rule for rule in alerts() if rule["alert"] == "FedhubNobodyLeads"]
    assert NAME.findall(rule["expr"]) == ["leader_election_master_status"]


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_says_what_to_do(rule):
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]

"""``fedhub explain`` and ``what-if``: wrong use answers with one line and exit code 2, and no server is asked."""

import contextlib

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hub.app import hypothetical
from hub.app.explaining import FederationOutlook
from hub.app.hypothetical import BadManifest
from hub.cli import app, explain_commands, output
from hub.cli.output import Format
from hub.engine.explanation import ClusterOutlook
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine.job_workload import PriorityClasses
from worker_agent.jobs import KINDS

JOB = "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {containers: []}}}}"
NO_CLASSES = PriorityClasses({}, {})


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.mark.parametrize("name", ["train", "/train", "a/b/c"])
def test_explain_needs_a_namespace_and_a_name(name):
    assert "must be NAMESPACE/NAME" in refused("explain", name)


def test_a_worker_context_needs_both_names():
    assert "--worker oregon: must be CLUSTER=CONTEXT" in refused("explain", "ns/w", "--worker", "oregon")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "not YAML"),
        ("", "holds no object"),
        ("[1]", "must be an object with apiVersion, kind, metadata and spec"),
        ("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: []}", "Job j: spec must be an object"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", "kind 'ConfigMap' of apiVersion 'v1' is no job"),
    ],
)
def test_what_if_says_what_is_wrong_with_a_manifest(tmp_path, text, told):
    path = tmp_path / "job.yaml"
    path.write_text(text)
    assert told in refused("what-if", "-f", str(path))


def test_what_if_takes_no_manifest_of_another_namespace(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("{name: j}", "{name: j, namespace: team-b}"))
    shown = refused("what-if", "-f", str(path), "-n", "team-a")
    assert "Job j: metadata.namespace is team-b, which is not the team-a of --namespace" in shown
    assert "leave the option out, or set it to team-b" in shown


@pytest.mark.parametrize(
    ("own", "asked"), [("", "team-a"), ("team-a", ""), ("team-a", "team-a")], ids=["asked for", "own", "both"]
)
def test_what_if_takes_the_namespace_that_is_named(own, asked):
    (document,) = hypothetical.documents(JOB.replace("{name: j}", f"{{name: j, namespace: '{own}'}}"), asked)
    made = hypothetical.workload_of(document, asked or "of-the-context", JobPolicy(), NO_CLASSES)
    assert made["metadata"]["namespace"] == "team-a"


def test_what_if_names_a_file_that_is_not_there():
    assert "--filename nowhere.yaml: No such file or directory" in refused("what-if", "-f", "nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {}}", "is no job; jobs are: AppWrapper"),
        ("{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}, spec: {}}", "give a --config whose integrations"),
        (JOB.replace("spec: {template", "spec: {parallelism: many, template"), "Job j: "),
        (JOB.replace("{name: j}", "{name: j, labels: {kueue.x-k8s.io/priority-class: high}}"), '"high" not found'),
    ],
)
def test_what_is_no_job_here_is_refused_with_a_reason(text, told):
    (document,) = hypothetical.documents(text)
    with pytest.raises(BadManifest, match=told):
        hypothetical.workload_of(document, "ns", JobPolicy(), NO_CLASSES)


def test_a_manifest_without_namespace_and_name_gets_them():
    (document,) = hypothetical.documents(JOB.replace("{name: j}", "{generateName: run-}"))
    made = hypothetical.workload_of(document, "ns", JobPolicy(), NO_CLASSES)
    assert made["metadata"]["namespace"] == "ns"
    assert made["metadata"]["ownerReferences"][0]["name"] == "run-what-if"


@pytest.mark.parametrize("framework", sorted(KINDS))
def test_every_kind_is_made_a_workload_or_refused_with_a_reason(framework):
    resource = KINDS[framework].resource
    document = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}, "spec": {}}
    policy = JobPolicy(frameworks=frozenset(KINDS))
    with contextlib.suppress(BadManifest):
        made = hypothetical.workload_of(document, "ns", policy, NO_CLASSES)
        assert made["metadata"]["ownerReferences"][0]["kind"] == resource.kind


TOLD = FederationOutlook(
    workload="ns/w",
    state="Waiting",
    summary="waits for a cluster",
    at="2026-01-01T00:00:00Z",
    cluster_queue="cq",
    best="west",
    clusters=(
        ClusterOutlook(cluster="west", verdict="FITS", as_of="2026-01-01T00:00:00Z"),
        ClusterOutlook(cluster="east", verdict="IMPOSSIBLE", blocker="cordoned", change="fedhub cluster uncordon east"),
    ),
)


@pytest.mark.parametrize("format_", list(Format))
def test_every_format_tells_verdict_and_change(capsys, format_):
    explain_commands._tell([TOLD], format_)
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("west", "FITS", "IMPOSSIBLE", "fedhub cluster uncordon east"))


def test_blocker_and_change_stand_below_each_other(capsys):
    told = ClusterOutlook(cluster="east", verdict="IMPOSSIBLE", blocker="impossible: too large", change="add nodes")
    explain_commands._tell([msgspec.structs.replace(TOLD, clusters=(told,))], Format.TABLE)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "east      IMPOSSIBLE   too large",
        "                       change: add nodes",
    ]


def test_terminal_breaks_long_sentences_at_its_width(capsys, monkeypatch):
    monkeypatch.setattr(output, "terminal", lambda: Console(force_terminal=True, width=60))
    output.entries(["cluster", "why"], [(["east"], ["word " * 30])])
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) > 3
    assert max(map(len, shown)) <= 60


def test_help_shows_examples():
    for command in ("explain", "what-if"):
        assert f"fedhub {command} " in CliRunner().invoke(app, [command, "--help"]).output

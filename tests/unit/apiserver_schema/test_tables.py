"""Tables and the JSONPath of their columns."""

import pytest

from hub.local.apiserver.schema import ages, json_path
from tests.unit.apiserver_schema.things import JOB, NOW, POD, THING, crd, job, registry_of, thing, things

CREATED = {"name": "t", "creationTimestamp": "2026-01-01T11:00:00Z"}


def cells(kind, document, registry=None):
    return (registry or things()).table(kind, [document], NOW)["rows"][0]["cells"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        (".list[0].n", ["x"]),
        (".list[-1].n", ["y"]),
        (".list[*].n", ["x", "y"]),
        (".list[?(@.n=='y')].v", [2]),
        (".list[?(@.v>1)].n", ["y"]),
        (".map['dotted.key']", ["d"]),
        (r".map.dotted\.key", ["d"]),
        ("..n", ["x", "y"]),
        (".none.x", []),
        (".list[9]", []),
    ],
)
def test_json_path(path, found):
    value = {"a": {"b": 1}, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "map": {"dotted.key": "d"}}
    assert json_path.compile_path(path)(value) == found


def test_a_path_that_cannot_be_read_is_refused():
    with pytest.raises(json_path.JsonPathError):
        json_path.compile_path(".a[")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "<invalid>"), (0, "0s"), (119, "119s"), (125, "2m5s"), (1200, "20m"), (3600 * 3, "3h"),
     (3600 * 5 + 60, "5h1m"), (3600 * 30, "30h"), (86400 * 3 + 3600, "3d1h"), (86400 * 300, "300d"),
     (86400 * 800, "2y70d")],
)  # fmt: skip
def test_ages(seconds, text):
    assert ages.human(seconds) == text


def test_custom_columns():
    columns = [
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
        {"name": "Labels", "type": "string", "jsonPath": ".spec.labels", "priority": 1},
        {"name": "Old", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    document = {**thing(count=3, labels={"a": "b"}), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    document["metadata"] = CREATED
    assert cells(THING, document, registry_of(crd(columns=columns))) == ["t", 3, "True", '{"a":"b"}', "60m"]


def test_without_columns_there_is_an_age():
    document = {**thing(), "metadata": CREATED}
    assert cells(THING, document) == ["t", "60m"]
    table = things().table(THING, [document], NOW)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_a_job():
    document = job(completions=3, parallelism=3, suspend=True)
    document["metadata"] = CREATED
    document["status"] = {"succeeded": 1, "conditions": [{"type": "Suspended", "status": "True"}]}
    assert cells(JOB, document) == ["t", "Suspended", "1/3", "", "60m", "c", "i", "a=b"]


def test_a_running_pod():
    pod = {
        "kind": "Pod",
        "metadata": CREATED,
        "spec": {"containers": [{"name": "c"}], "nodeName": "n1"},
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": "10.0.0.1"}],
            "containerStatuses": [{"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}}],
        },
    }
    assert cells(POD, pod) == ["t", "1/1", "Running", "0", "60m", "10.0.0.1", "n1", "<none>", "<none>"]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"phase": "Pending"}, "Pending"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "SchedulingGated",
        ),
        (
            {"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
            "CrashLoopBackOff",
        ),
        ({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}, "ExitCode:3"),
        (
            {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}]},
            "Completed",
        ),
    ],
)
def test_the_status_of_a_pod(status, shown):
    assert cells(POD, {"kind": "Pod", "metadata": CREATED, "spec": {}, "status": status})[2] == shown

import msgspec
import pytest

from tests.integration.kueue.conftest import Kueue, masked
from tests.integration.kueue.test_deleting import JOB, put_job
from tests.integration.kueue.test_stopping import POD_SETS
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, PODS, RESOURCE_FLAVORS, WORKLOADS

TIME = "2026-01-01T00:00:00Z"
HEADINGS = (
    "NAME        JOB TYPE   JOB NAME   LOCALQUEUE   CLUSTERQUEUE   STATUS          POSITION IN QUEUE   EXEC TIME   AGE"
)


def condition(type_: str, since: str = TIME) -> Document:
    return {"type": type_, "status": "True", "reason": "R", "message": "", "lastTransitionTime": since}


def test_cluster_queues(kueue: Kueue) -> None:
    label = {"labels": {"of": kueue.namespace}}
    status = {"conditions": [condition("Active")], "pendingWorkloads": 2, "admittedWorkloads": 31}
    kueue.put(CLUSTER_QUEUES, f"{kueue.namespace}-a", metadata=label, spec={"cohortName": "lab"}, status=status)
    kueue.put(CLUSTER_QUEUES, f"{kueue.namespace}-b", metadata=label, spec={})
    mine = ("-l", f"of={kueue.namespace}")
    a, b = (f"{kueue.namespace}-{name}" for name in "ab")
    assert masked(kueue("list", "clusterqueue", *mine)) == [
        "NAME     COHORT   PENDING WORKLOADS   ADMITTED WORKLOADS   ACTIVE   AGE",
        f"{a}   lab      2                   31                   true     <age>",
        f"{b}            0                   0                    false    <age>",
    ]
    assert kueue("list", "cq", *mine, "--active", "true", "-o", "name") == f"clusterqueue.kueue.x-k8s.io/{a}\n"
    assert kueue("list", "cq", *mine, "--active=false", "-o", "name") == f"clusterqueue.kueue.x-k8s.io/{b}\n"


def test_local_queues(kueue: Kueue) -> None:
    kueue.put(LOCAL_QUEUES, "blue", spec={"clusterQueue": "sea"}, status={"pendingWorkloads": 1})
    kueue.put(LOCAL_QUEUES, "green", spec={"clusterQueue": "wood"})
    assert masked(kueue("list", "localqueue")) == [
        "NAME    CLUSTERQUEUE   PENDING WORKLOADS   ADMITTED WORKLOADS   AGE",
        "blue    sea            1                   0                    <age>",
        "green   wood           0                   0                    <age>",
    ]
    assert kueue("list", "lq", "-c", "wood", "-o", "name") == "localqueue.kueue.x-k8s.io/green\n"
    everywhere = masked(kueue("list", "lq", "-A", "-c", "sea", "--field-selector", "metadata.name=blue"))
    assert everywhere[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert any(line.split()[:2] == [kueue.namespace, "blue"] for line in everywhere[1:])


def test_flavors(kueue: Kueue) -> None:
    name = f"flavor-{kueue.namespace}"
    kueue.put(RESOURCE_FLAVORS, name, spec={"nodeLabels": {"b": "2", "a": "1"}})
    assert masked(kueue("list", "rf", "--field-selector", f"metadata.name={name}", "--no-headers")) == [
        f"{name}   a=1, b=2   <age>"
    ]


def put_workloads(kueue: Kueue) -> None:
    kueue.put(LOCAL_QUEUES, "lq", spec={"clusterQueue": "cq"})
    put_job(kueue)
    admission = {"clusterQueue": "other", "podSetAssignments": [{"name": "main", "count": 1}]}
    done = [condition("QuotaReserved"), condition("Admitted"), condition("Finished", "2026-01-01T00:01:30Z")]
    for name, conditions in (("ended", done), ("reserved", done[:1]), ("runs", done[:2])):
        status = {"admission": admission, "conditions": conditions}
        kueue.put(WORKLOADS, name, spec={"queueName": "lq", "podSets": POD_SETS}, status=status)
    kueue.put(WORKLOADS, "waits", spec={"queueName": "lq", "podSets": POD_SETS})


def test_workloads(kueue: Kueue) -> None:
    put_workloads(kueue)
    lines = masked(kueue("list", "workload"))
    assert lines[0] == HEADINGS
    rows = {line.split()[0]: line for line in lines[1:]}
    at = {name: HEADINGS.index(name) for name in ("JOB TYPE", "CLUSTERQUEUE", "STATUS", "EXEC TIME")}

    def cell(row: str, column: str) -> str:
        return (rows[row][at[column] :].split() or [""])[0]

    assert rows["job-train"].split() == ["job-train", "job", "train", "q", "PENDING", "<age>"]
    assert [cell(row, "STATUS") for row in ("ended", "reserved", "runs", "waits")] == [
        "FINISHED",
        "QUOTARESERVED",
        "ADMITTED",
        "PENDING",
    ]
    assert cell("ended", "EXEC TIME") == "90s"
    assert (cell("runs", "CLUSTERQUEUE"), cell("waits", "CLUSTERQUEUE")) == ("other", "cq")


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (("--status", "pending"), ["job-train", "waits"]),
        (("--status", "Admitted", "--status", "finished"), ["ended", "runs"]),
        (("--status", "quotareserved"), ["reserved"]),
        (("--status", "all", "-q", "lq"), ["ended", "reserved", "runs", "waits"]),
        (("-c", "other", "--status", "admitted"), ["runs"]),
        (("--for", "job/train"), ["job-train"]),
        (("--for", "jobs.batch/train"), ["job-train"]),
        (("--field-selector", "metadata.name=runs"), ["runs"]),
        (("--chunk-size", "2"), ["ended", "job-train", "reserved", "runs", "waits"]),
    ],
)
def test_workloads_that_were_asked_for(kueue: Kueue, flags: tuple[str, ...], names: list[str]) -> None:
    put_workloads(kueue)
    told = kueue("list", "workload", *flags, "-o", "name").split()
    assert told == [f"workload.kueue.x-k8s.io/{name}" for name in names]


def test_nothing_found_is_said(kueue: Kueue) -> None:
    done = kueue.run("list", "workload")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"No resources found in {kueue.namespace} namespace.\n"


def test_pods_of_a_job(kueue: Kueue) -> None:
    put_job(kueue)
    spec = JOB["template"]["spec"]
    for name, job in (("train-x", "train"), ("else-y", "else")):
        kueue.put(PODS, name, metadata={"labels": {"batch.kubernetes.io/job-name": job}}, spec=spec)
    assert masked(kueue("list", "pods", "--for", "job/train")) == [
        "NAME      READY   STATUS    RESTARTS   AGE",
        "train-x   0/1     Pending   0          <age>",
    ]
    assert "NOMINATED NODE" in kueue("list", "pods", "--for", "job/train", "-o", "wide")
    assert "unsupported kind: Pod" in kueue.fails("list", "po", "--for", "pod/train-x")
    assert "doesn't have a resource type" in kueue.fails("list", "po", "--for", "nonsense/train-x")


def test_formats(kueue: Kueue) -> None:
    put_workloads(kueue)
    one = ("list", "workload", "--field-selector", "metadata.name=runs")
    listed = msgspec.json.decode(kueue(*one, "-o", "json"))
    assert (listed["kind"], listed["items"][0]["metadata"]["name"]) == ("WorkloadList", "runs")
    assert "managedFields" not in kueue(*one, "-o", "yaml")
    assert "managedFields" in kueue(*one, "-o", "yaml", "--show-managed-fields")
    assert kueue(*one, "-o", "jsonpath={.items[*].spec.queueName}") == "lq"
    assert kueue(*one, "-o", "go-template", "--template", "{{(index .items 0).metadata.name}}") == "runs"
    assert kueue(*one, "-o", "kyaml").startswith("---\n{")
    assert "unable to match a printer" in kueue.fails(*one, "-o", "xml", code=2)

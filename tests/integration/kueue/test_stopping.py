import pytest

from tests.integration.kueue.conftest import Kueue
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS

QUEUE = {"namespaceSelector": {}}
POD_SETS = [
    {
        "name": "main",
        "count": 1,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    }
]


def put(kueue: Kueue, kind: str) -> str:
    name = f"{kind}-{kueue.namespace}"
    if kind == "clusterqueue":
        kueue.put(CLUSTER_QUEUES, name, spec=QUEUE)
    elif kind == "localqueue":
        kueue.put(LOCAL_QUEUES, name, spec={"clusterQueue": "q"})
    else:
        kueue.put(WORKLOADS, name, spec={"queueName": "q", "podSets": POD_SETS})
    return name


@pytest.mark.parametrize("kind", ["clusterqueue", "localqueue"])
@pytest.mark.parametrize(("flags", "policy"), [((), "HoldAndDrain"), (("--keep-already-running",), "Hold")])
def test_queue_is_stopped_and_resumed_with_one_write_each(
    kueue: Kueue, kind: str, flags: tuple[str, ...], policy: str
) -> None:
    name = put(kueue, kind)
    assert kueue("stop", kind, name, *flags) == f"{kind}.kueue.x-k8s.io/{name}\n"
    assert kueue.spec(kind, name)["stopPolicy"] == policy
    kueue("resume", kind, name)
    assert kueue.spec(kind, name)["stopPolicy"] == "None"
    assert [sent.method for sent in kueue.writes] == ["PATCH", "PATCH"]


def test_workload_is_stopped_and_resumed(kueue: Kueue) -> None:
    name = put(kueue, "workload")
    assert kueue("stop", "workload", name) == f"workload.kueue.x-k8s.io/{name} stopped\n"
    assert kueue.spec("workload", name)["active"] is False
    assert kueue("resume", "kwl", name) == f"workload.kueue.x-k8s.io/{name} resumed\n"
    assert kueue.spec("workload", name)["active"] is True


def test_what_is_stopped_already_costs_no_write(kueue: Kueue) -> None:
    name = put(kueue, "localqueue")
    kueue("stop", "lq", name)
    kueue("stop", "lq", name)
    assert len(kueue.writes) == 1


@pytest.mark.parametrize("kind", ["clusterqueue", "localqueue", "workload"])
@pytest.mark.parametrize(("where", "writes"), [("client", []), ("server", [True])])
def test_dry_runs_keep_nothing(kueue: Kueue, kind: str, where: str, writes: list[bool]) -> None:
    name = put(kueue, kind)
    before = kueue.everything(CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS)
    assert kueue("stop", kind, name, "--dry-run", where).endswith(f"({where} dry run)\n")
    assert [sent.dry for sent in kueue.writes] == writes
    assert kueue.everything(CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS) == before


def test_what_is_not_there_is_told(kueue: Kueue) -> None:
    assert kueue.fails("stop", "clusterqueue", "nowhere") == (
        'error: clusterqueues.kueue.x-k8s.io "nowhere" not found\n'
    )


@pytest.mark.parametrize(
    "command", [("stop", "clusterqueue"), ("stop", "workload"), ("resume", "localqueue"), ("delete", "workload")]
)
def test_empty_name_is_told(kueue: Kueue, command: tuple[str, ...]) -> None:
    assert "NAME: must not be empty" in kueue.fails(*command, "", code=2)
    assert kueue.writes == []

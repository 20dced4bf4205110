"""Commands that are kubectl's, and what is asked of servers beside them."""

import msgspec
import pytest
from typer.testing import CliRunner

from hub.cli import app
from hub.cli.kueue import kubectl, list_workloads
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response


@pytest.fixture
def handed_on(monkeypatch):
    taken: list[list[str]] = []
    monkeypatch.setattr(kubectl, "become", taken.append)
    return taken


@pytest.mark.parametrize(
    ("typed", "kubectl_gets"),
    [
        (("get", "cq", "-oname", "-w"), ["get", "clusterqueues.kueue.x-k8s.io", "-oname", "-w"]),
        (("-n", "t", "describe", "lq", "a"), ["--namespace=t", "describe", "localqueues.kueue.x-k8s.io", "a"]),
        (
            ("patch", "workload", "w", "--type=merge", "-p", '{"spec":{}}', "-n", "t"),
            ["patch", "workloads.kueue.x-k8s.io", "w", "--type=merge", "-p", '{"spec":{}}', "-n", "t"],
        ),
        (("edit", "rf", "f", "--help"), ["edit", "resourceflavors.kueue.x-k8s.io", "f", "--help"]),
        (
            ("delete", "clusterqueue", "a", "--wait=false"),
            ["delete", "clusterqueues.kueue.x-k8s.io", "a", "--wait=false"],
        ),
    ],
)
def test_kubectl_gets_what_was_typed(handed_on, typed, kubectl_gets):
    done = CliRunner().invoke(app, ["kueue", *typed])
    assert done.exit_code == 0, done.output
    assert handed_on == [kubectl_gets]


def test_kubectl_that_is_not_there_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    done = CliRunner().invoke(app, ["kueue", "get", "cq"])
    assert done.exit_code == 1
    assert "which is not on PATH" in done.output


@pytest.mark.parametrize("command", ["create clusterqueue", "list workload", "delete workload", "stop localqueue"])
def test_help_has_an_example(command):
    done = CliRunner().invoke(app, ["kueue", *command.split(), "--help"], env={"COLUMNS": "200"})
    assert f"fedhub kueue {command}" in done.output


class Visibility:
    """Serves who waits in one ClusterQueue, and nothing else."""

    def __init__(self, status: int = 200) -> None:
        self.asked: list[str] = []
        self._status = status

    async def request(self, request: Request) -> Response:
        self.asked.append(request.path + "".join(f"?{name}={value}" for name, value in request.query))
        items = [
            {"metadata": {"namespace": "ns", "name": name}, "positionInLocalQueue": position}
            for position, name in enumerate(("first", "second"))
        ]

        async def stream():
            yield msgspec.json.encode({"items": items})

        return Response(self._status, {}, stream())

    async def close(self) -> None: ...


def waiting(name: str) -> dict:
    return {"metadata": {"namespace": "ns", "name": name}, "spec": {"queueName": "lq"}}


async def test_positions_are_asked_once_for_each_cluster_queue():
    server = Visibility()
    found = [waiting("second"), waiting("first")]
    positions = await list_workloads._positions(Client(server, SystemClock()), found, {("ns", "lq"): "cq"})
    assert positions == {("ns", "first"): 0, ("ns", "second"): 1}
    assert server.asked == ["/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads?limit=100000"]


async def test_without_the_visibility_api_there_are_no_positions():
    client = Client(Visibility(404), SystemClock())
    assert await list_workloads._positions(client, [waiting("first")], {("ns", "lq"): "cq"}) == {}


class Queues:
    """Serves 50 LocalQueues of one namespace."""

    def __init__(self) -> None:
        self.asked = 0

    async def request(self, request: Request) -> Response:
        self.asked += 1
        items = [
            {"metadata": {"namespace": "ns", "name": f"q{number}"}, "spec": {"clusterQueue": f"c{number}"}}
            for number in range(50)
        ]

        async def stream():
            yield msgspec.json.encode({"kind": "List", "metadata": {}, "items": items})

        return Response(200, {}, stream())

    async def close(self) -> None: ...


async def test_many_queues_are_read_with_one_request():
    server = Queues()
    found = [{**waiting(f"w{number}"), "spec": {"queueName": f"q{number % 50}"}} for number in range(2000)]
    queues = await list_workloads._cluster_queues(Client(server, SystemClock()), found)
    assert (len(queues), queues["ns", "q7"], server.asked) == (50, "c7", 1)

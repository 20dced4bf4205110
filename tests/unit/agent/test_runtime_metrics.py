"""How the program works, as a scrape shows it under the names that operators' dashboards ask for."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status, until
from tests.unit.kube.running import running
from worker_agent.api.resource_type import JOBS, PODS
from worker_agent.app.runtime_metrics import RuntimeCollector, Sources
from worker_agent.kube import errors
from worker_agent.kube.client import Client
from worker_agent.kube.controller import ROSTER, Controller
from worker_agent.kube.errors import Conflict, ReconcileError
from worker_agent.kube.retry import NEVER

pytestmark = pytest.mark.looptime


def scraped(sources: Sources) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(RuntimeCollector(sources))
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


@pytest.fixture
def sources():
    made = Sources()
    token = ROSTER.set(made.controllers)
    yield made
    ROSTER.reset(token)


async def test_reconciles_by_how_they_ended(sources: Sources):
    ends = [Conflict("written meanwhile"), ReconcileError("in the way"), ValueError("a fault"), 60.0, None]

    async def reconcile(key: str) -> float | None:
        await asyncio.sleep(0.2)
        end = ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    controller = Controller("workload", reconcile, workers=3, clock=clock())
    async with running(controller):
        controller.enqueue("a")
        await until(lambda: not ends and controller.idle)
    found = scraped(sources)
    totals = {
        result: found[f'controller_runtime_reconcile_total{{controller="workload",result="{result}"}}']
        for result in ("success", "requeue_after", "requeue", "error")
    }
    assert totals == {"success": 1, "requeue_after": 1, "requeue": 1, "error": 2}
    assert found['controller_runtime_reconcile_errors_total{controller="workload"}'] == 2
    assert found['controller_runtime_reconcile_panics_total{controller="workload"}'] == 1
    assert found['controller_runtime_max_concurrent_reconciles{controller="workload"}'] == 3
    assert found['controller_runtime_active_workers{controller="workload"}'] == 0
    assert found['controller_runtime_reconcile_time_seconds_sum{controller="workload"}'] == pytest.approx(1.0)
    assert found['controller_runtime_reconcile_time_seconds_bucket{controller="workload",le="0.15"}'] == 0
    assert found['controller_runtime_reconcile_time_seconds_bucket{controller="workload",le="0.25"}'] == 5
    assert found['workqueue_retries_total{controller="workload",name="workload"}'] == 3


async def test_a_queue_while_its_worker_is_busy(sources: Sources):
    async def reconcile(key: str) -> None:
        await asyncio.sleep(5)

    controller = Controller("job", reconcile, clock=clock())
    async with running(controller):
        for key in ("a", "b", "c"):
            controller.enqueue(key)
        await asyncio.sleep(7)
        found = scraped(sources)
    row = '{controller="job",name="job"}'
    assert found[f"workqueue_depth{row}"] == 1
    assert found[f"workqueue_adds_total{row}"] == 3
    assert found['controller_runtime_active_workers{controller="job"}'] == 1
    assert found[f"workqueue_work_duration_seconds_sum{row}"] == pytest.approx(5)
    assert found[f"workqueue_queue_duration_seconds_sum{row}"] == pytest.approx(5)
    assert found[f"workqueue_unfinished_work_seconds{row}"] == pytest.approx(2)
    assert found[f"workqueue_longest_running_processor_seconds{row}"] == pytest.approx(2)


async def test_controllers_of_one_name_are_told_as_one(sources: Sources):
    async def reconcile(key: str) -> None:
        return None

    pair = [Controller("job", reconcile, workers=2, clock=clock()) for _ in range(2)]
    async with running(pair[0]), running(pair[1]):
        for controller in pair:
            controller.enqueue("a")
        await until(lambda: all(controller.results for controller in pair))
    found = scraped(sources)
    assert found['controller_runtime_reconcile_total{controller="job",result="success"}'] == 2
    assert found['controller_runtime_max_concurrent_reconciles{controller="job"}'] == 4


async def test_requests_by_status_and_host():
    sources = Sources()
    transport = ScriptedTransport(
        answer(200, {}), answer(404, status(404, "NotFound")), ConnectionError("refused"), answer(200, b"")
    )
    client = Client(transport, clock(), retry_policy=NEVER)
    client.statistics = sources.requests.of("server:6443")
    await client.get(PODS, "p", "ns")
    with pytest.raises(errors.NotFound):
        await client.delete(JOBS, "j", "ns")
    with pytest.raises(ConnectionError):
        await client.get(PODS, "p", "ns")
    assert [batch async for batch in client.watch(PODS, resource_version="1")] == []
    found = scraped(sources)
    totals = {name: count for name, count in found.items() if name.startswith("rest_client_requests_total")}
    assert totals == {
        'rest_client_requests_total{code="200",host="server:6443",method="GET"}': 2,
        'rest_client_requests_total{code="404",host="server:6443",method="DELETE"}': 1,
        'rest_client_requests_total{code="<error>",host="server:6443",method="GET"}': 1,
    }
    assert found['rest_client_request_duration_seconds_count{host="server:6443",verb="GET"}'] == 2


async def test_who_leads():
    leads = iter((False, True))
    sources = Sources(lease="c1f6bfd2.kueue.x-k8s.io", leads=lambda: next(leads))
    row = 'leader_election_master_status{name="c1f6bfd2.kueue.x-k8s.io"}'
    assert [scraped(sources)[row] for _ in range(2)] == [0, 1]


async def test_without_an_election_nobody_leads():
    assert not any(name.startswith("leader_election") for name in scraped(Sources()))

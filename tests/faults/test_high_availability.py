"""Two hubs and two agents, of which one leads: kill -9 and SIGTERM of the leader under load.

One worker is reached by its kubeconfig; the agent of the other dials the hubs, at one address that leads to either.

Evidence, not trust: simulated kubelets write a line per pod that ran to its end, and a witness watches for two running
copies of one job. ``-s`` shows the figures.
"""

import asyncio
import contextlib
import gc
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import msgspec
import pytest

from hub.local import spec
from hub.local.demo import Demo
from hub.local.demo_board import Stage
from hub.local.federation import Federation, connect
from tests.faults.replicas import Pair, until
from tests.faults.test_crashes import NAMESPACE, Witness, jobs, runs
from tests.local_federation import running
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, ApiError
from worker_agent.kube.informer import Informer, document
from worker_agent.kube.transport import Request

pytestmark = [
    pytest.mark.timeout(1200),
    # A program that was killed never answers the end of a TLS connection: the loop may end before such a one does.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

JOB_COUNT = 30
FAIL_OVER_SECONDS = 20.0
FIRST_CONTACT_SECONDS = 8.0
"""A hub that begins to lead reaches every worker before it decides; where a worker is slow it waits that long."""
GRACE_SECONDS = 10.0
"""A pod has 30 by default."""
LOAD_SECONDS = 300
LINKED = 'fedhub_tunnel_connected{agent="berlin"} 1.0'
IN_CONTACT = 'fedhub_worker_connected{cluster="berlin"} 1.0'
TOO_BIG = ("fat", "finetune")
"""Jobs of the demo that fit only in the third of its workers."""


@dataclass
class Course:
    """What happened: seconds by what they were measured for."""

    seconds: dict[str, float] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)
    """Seconds of each part in which the machine let this program wait, and so the others too: nobody's delay."""
    unfinished: dict[str, str] = field(default_factory=dict)
    missing: list[tuple[str, int]] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)


@dataclass
class Lateness:
    """By how much a short sleep lasts longer than it should, in all: next to nothing on a machine with time for us."""

    seconds: float = 0.0

    async def watch(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.1)
            self.seconds += max(0.0, time.monotonic() - before - 0.1)


@contextlib.asynccontextmanager
async def lateness(told: Course, part: str):
    found = Lateness()
    watching = asyncio.create_task(found.watch())
    try:
        yield
    finally:
        watching.cancel()
        told.late[part] = found.seconds


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    """The demo's manager and two of its workers, of which berlin is reached by what its agent dialled."""
    shipped = spec.load(spec.shipped())
    sources = {"berlin": "agent", "tokyo": "kubeConfig"}
    both = [
        worker.model_copy(update={"source": sources[worker.name]})
        for worker in shipped.workers
        if worker.name in sources
    ]
    chosen = shipped.model_copy(update={"workers": both})
    with running(chosen, tmp_path_factory.mktemp("replicas"), spec.shipped()) as found:
        yield found
    gc.collect()


@contextlib.asynccontextmanager
async def witnessed(federation: Federation):
    """Watches every worker for two running copies of one job."""
    async with contextlib.AsyncExitStack() as stack:
        clients = {
            worker.name: await stack.enter_async_context(connect(federation.layout, worker.name))
            for worker in federation.spec.workers
        }
        witness = Witness(clients)
        watching = []
        for name, client in clients.items():
            informer = Informer(client, JOBS, document, namespace=NAMESPACE)
            informer.add_handler(lambda event, name=name: witness.on_job(name, event))
            watching.append(asyncio.create_task(informer.run()))
        try:
            yield witness
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)


async def finished(demo: Demo, count: int) -> None:
    async def enough() -> bool:
        return sum(row.stage is Stage.FINISHED for row in demo.rows()) >= count

    await until(enough, f"{count} jobs have finished", LOAD_SECONDS)


async def starts(client: Client, name: str) -> float:
    """Seconds until a new job is let go: one so small that there is always room for it."""
    (job,) = jobs(1, name)
    job["metadata"] |= {"name": name, "namespace": NAMESPACE}
    for container in job["spec"]["template"]["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    started = time.monotonic()
    await created(client, job)

    async def let_go() -> bool:
        found = msgspec.json.decode(await client.get(JOBS, name, NAMESPACE))
        return bool(found["status"].get("startTime")) or not found["spec"].get("suspend")

    await until(let_go, f"job {name} starts")
    return time.monotonic() - started


async def created(client: Client, job: Document) -> None:
    """Where the webhooks still lead to the one that is gone, users try again."""

    async def made() -> bool:
        try:
            await client.create(JOBS, job, NAMESPACE)
        except AlreadyExists:
            return True  # what failed was the answer
        except ApiError:
            return False
        return True

    await until(made, "a job is taken")


async def course(federation: Federation) -> Course:
    """Under load: the leading hub is killed, then the leading agent of a worker."""
    told = Course()
    hubs = await Pair.of(federation, "hub")
    agents = await Pair.of(federation, "agent-tokyo")
    try:
        async with connect(federation.layout, "manager") as manager, witnessed(federation) as witness:
            await until(hubs.standby.follows, "the other hub follows")
            for hub in hubs.all:
                await until(partial(hub.shows, LINKED), f"berlin's agent holds a link to {hub.name}")
            told.seconds["visibility by a follower"] = await until(lambda: pending_told(manager), "visibility answers")
            load = [job for job in jobs(2 * JOB_COUNT, "ha") if not job["metadata"]["name"].startswith(TOO_BIG)]
            demo = Demo(manager, load[:JOB_COUNT], "ha")
            following = asyncio.create_task(demo.follow(LOAD_SECONDS))
            await finished(demo, JOB_COUNT // 5)
            killed = datetime.now(UTC)
            async with lateness(told, "hub"):
                hubs.leader.kill()
                lease = await until(hubs.standby.leads, "the other hub leads")
                contact = await until(partial(hubs.standby.shows, IN_CONTACT), "the other hub is in contact")
                told.seconds["hub: lease"] = lease
                told.seconds["hub: contact by the agent's link"] = lease + contact
                told.seconds["hub: next job"] = lease + contact + await starts(manager, "after-hub")
            await finished(demo, JOB_COUNT // 2)
            agent_killed = datetime.now(UTC)
            async with lateness(told, "agent"), connect(federation.layout, "tokyo") as tokyo:
                agents.leader.kill()
                lease = await until(agents.standby.leads, "the other agent leads")
                told.seconds["agent: lease"] = lease
                told.seconds["agent: next job"] = lease + await starts(tokyo, "after-agent")
            await following
            told.seconds["hub: next decision"] = hubs.standby.seconds_until("nominated", killed)
            told.seconds["agent: next decision"] = agents.standby.seconds_until("QuotaReserved", agent_killed)
            told.missing = [run for run in wanted(demo) if run not in runs(federation)]
            told.unfinished = {row.job: str(row.stage) for row in demo.rows() if row.stage is not Stage.FINISHED}
            told.doubled = witness.proven
            async with lateness(told, "stop"):
                await stopped_in_good_order(hubs, told)
    finally:
        await hubs.close()
        await agents.close()
    return told


def wanted(demo: Demo) -> list[tuple[str, int]]:
    """Which pods must have run."""
    return [(job["metadata"]["name"], index) for job in demo.jobs for index in range(job["spec"]["completions"])]


async def stopped_in_good_order(hubs: Pair, told: Course) -> None:
    """The hub that leads now is told to end while another follows: its lease is free at once."""
    await hubs.leader.start()
    await until(hubs.leader.follows, "the first hub follows")
    code, told.seconds["hub: stop"] = await asyncio.to_thread(hubs.standby.stop)
    assert code == 0
    told.seconds["hub: after a stop"] = await until(hubs.leader.leads, "the first hub leads again")
    contact = await until(partial(hubs.leader.shows, IN_CONTACT), "the first hub is in contact with berlin again")
    told.seconds["hub: contact after a stop"] = told.seconds["hub: after a stop"] + contact


async def pending_told(manager: Client) -> bool:
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/research/pendingworkloads"
    try:
        await manager.raw(Request("GET", path))
    except ApiError as error:
        return error.status == 404 and "clusterqueue" in error.message
    return True


def test_another_takes_over_and_every_job_runs_once(federation):
    told = asyncio.run(course(federation))
    print({what: round(seconds, 2) for what, seconds in told.seconds.items()}, "late:", told.late)
    assert told.unfinished == {}
    assert told.missing == []
    assert told.doubled == []
    hub, agent, stop = (told.late[part] for part in ("hub", "agent", "stop"))
    assert told.seconds["hub: lease"] < FAIL_OVER_SECONDS + hub
    assert told.seconds["hub: next decision"] < FAIL_OVER_SECONDS + FIRST_CONTACT_SECONDS + hub
    assert told.seconds["hub: contact by the agent's link"] < FAIL_OVER_SECONDS + FIRST_CONTACT_SECONDS + hub
    assert told.seconds["hub: contact after a stop"] < FAIL_OVER_SECONDS + stop
    assert told.seconds["agent: lease"] < FAIL_OVER_SECONDS + agent
    assert told.seconds["agent: next decision"] < FAIL_OVER_SECONDS + agent
    assert told.seconds["hub: stop"] < GRACE_SECONDS + stop
    assert told.seconds["hub: after a stop"] < FAIL_OVER_SECONDS / 2 + stop
    twice = {run: uids for run, uids in runs(federation).items() if len(uids) > 1}
    assert twice == {}

"""kill -9 of hub, agents and API servers at random moments of a run: nothing is lost, doubled or left unfinished.

Evidence, not trust: each simulated kubelet writes a line per pod that ran to its end, whatever happens to the objects
afterwards, and a witness watches every worker for two running copies of one Job.
"""

import asyncio
import contextlib
import gc
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from hub.local import demo_jobs, processes, spec
from hub.local.demo import Demo
from hub.local.demo_board import Stage
from hub.local.federation import Federation, connect
from hub.local.layout import Layout
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, PODS, WORKLOADS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError, NotFound
from worker_agent.kube.informer import Event, Informer, document

NAMESPACE = "training"
KILLS = 6
TIMEOUT_SECONDS = 420
START_SECONDS = 180
STANDING = ("phase", "active", "ready", "succeeded", "terminating", "uncountedTerminatedPods", "clusterName")
POD_NAME = re.compile(r"^(?P<job>.+)-(?P<index>\d+)-[a-z0-9]{5}$")


def jobs(count: int, run: str) -> list[Document]:
    """The demo's jobs, each pod running for one second."""
    made = demo_jobs.make(spec.documents(spec.shipped() / "jobs"), count, run)
    for job in made:
        job["spec"]["template"]["metadata"]["annotations"]["fedhub.dev/run-seconds"] = "1"
    return made


@dataclass
class Witness:
    """Looks for two unsuspended copies of one Job.

    Watches give suspects; reading one copy, then the other, then the one again proves it, as no clock is shared.
    """

    clients: dict[str, Client]
    running: dict[str, dict[Key, str]] = field(default_factory=lambda: defaultdict(dict))
    proven: list[str] = field(default_factory=list)
    _checks: set[asyncio.Task[None]] = field(default_factory=set)

    def on_job(self, cluster: str, event: Event[Document]) -> None:
        if event.new is None or not is_running(event.new):
            self.running[cluster].pop(event.key, None)
            return
        self.running[cluster][event.key] = event.new["metadata"]["uid"]
        for other, held in self.running.items():
            if other != cluster and event.key in held:
                task = asyncio.create_task(self._prove(event.key, cluster, other))
                self._checks.add(task)
                task.add_done_callback(self._checks.discard)

    async def _prove(self, key: Key, one: str, other: str) -> None:
        with contextlib.suppress(ConnectionError, ApiError, asyncio.CancelledError):
            seen = [await self._read(cluster, key) for cluster in (one, other, one)]
            if all(job is not None and is_running(job) for job in seen) and seen[0] == seen[2]:
                self.proven.append(f"{key} runs in {one} and {other}")

    async def _read(self, cluster: str, key: Key) -> Document | None:
        try:
            return document(await self.clients[cluster].get(JOBS, key.name, key.namespace))
        except NotFound:
            return None


def is_running(job: Document) -> bool:
    done = any(
        c["type"] in ("Complete", "Failed") and c["status"] == "True"
        for c in job.get("status", {}).get("conditions", [])
    )
    return not job["spec"].get("suspend") and not done and not job["metadata"].get("deletionTimestamp")


async def crash(federation: Federation, demo: Demo, random_: random.Random) -> list[str]:
    """Kills a program whenever a drawn number of jobs has finished, and starts it again at once.

    Every third one is killed twice in a row, the second time when it just serves again.
    """
    total = len(demo.jobs)
    moments = sorted(random_.sample(range(total - 5), KILLS))
    killed = []
    changed = asyncio.Event()
    demo.on_change = lambda rows: changed.set()
    for number, moment in enumerate(moments):
        while sum(row.stage is Stage.FINISHED for row in demo.rows()) < moment:
            changed.clear()
            await changed.wait()
        name = random_.choice(sorted(federation.running))
        kill(federation, name)
        if number % 3 == 2:
            await federation.ready(name)
            kill(federation, name)
        killed.append(f"{name} at {moment}")
    return killed


def kill(federation: Federation, name: str) -> None:
    processes.kill(federation.running[name])
    federation.restart(name)


def runs(federation: Federation) -> dict[tuple[str, int], set[str]]:
    """Which pods ran to completion, by Job and index, over all workers; from the kubelets' own lines."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for worker in federation.spec.workers:
        for line in federation.layout.log(f"cluster-{worker.name}").read_text().splitlines():
            start = line.find('{"namespace"')
            if start < 0:
                continue
            told = msgspec.json.decode(line[start:])
            name = POD_NAME.match(told["pod"])
            assert name is not None, f"unexpected pod name {told['pod']}"
            if told["phase"] == "Succeeded":
                found[name["job"], int(name["index"])].add(told["uid"])
    return found


async def standing(federation: Federation, jobs: Iterable[str]) -> str:
    """Where jobs stand that have not come to their end: what each cluster has of them, and what programs said last."""
    found = []
    for cluster in federation.spec.clusters:
        async with connect(federation.layout, cluster.name) as client:
            for resource in (JOBS, WORKLOADS, PODS):
                for raw in (await client.list(resource, NAMESPACE)).items:
                    one = document(raw)
                    if any(job in one["metadata"]["name"] for job in jobs):
                        found.append(f"{cluster.name} {resource.kind} {_brief(one)}")
    for name in sorted(federation.running):
        lines = federation.layout.log(name).read_text().splitlines()
        found += [f"{name} said: {line[:300]}" for line in lines if any(job in line for job in jobs)][-3:]
    return "\n".join(found)


def _brief(one: Document) -> str:
    metadata, spec, status = one["metadata"], one.get("spec", {}), one.get("status", {})
    told = [f"{each['type']}={each['status']} {each.get('reason', '')}" for each in status.get("conditions", [])]
    kept = {name: value for name, value in status.items() if name in STANDING}
    ends = " being deleted" if metadata.get("deletionTimestamp") else ""
    return f"{metadata['name']}{ends} suspend={spec.get('suspend')} node={spec.get('nodeName')} {kept} {told}"


async def run(federation: Federation, seed: int) -> tuple[Demo, Witness, list[str]]:
    await federation.up(lambda text: None)
    async with contextlib.AsyncExitStack() as stack:
        manager = await stack.enter_async_context(connect(federation.layout, "manager"))
        clients = {
            w.name: await stack.enter_async_context(connect(federation.layout, w.name)) for w in federation.spec.workers
        }
        witness = Witness(clients)
        watching = []
        for name, client in clients.items():
            informer = Informer(client, JOBS, document, namespace=NAMESPACE)
            informer.add_handler(lambda event, name=name: witness.on_job(name, event))
            watching.append(asyncio.create_task(informer.run()))
        demo = Demo(manager, jobs(60, f"s{seed}"), f"s{seed}")
        crashing = asyncio.create_task(crash(federation, demo, random.Random(seed)))
        await demo.follow(TIMEOUT_SECONDS)
        await asyncio.wait([crashing], timeout=START_SECONDS)
        crashing.cancel()
        killed = (await asyncio.gather(crashing, return_exceptions=True))[0]
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    return demo, witness, killed if isinstance(killed, list) else [repr(killed)]


@pytest.mark.timeout(TIMEOUT_SECONDS + START_SECONDS + 90)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_job_runs_once_whatever_is_killed(tmp_path: Path, seed: int):
    folder = spec.shipped()
    federation = Federation(spec.load(folder), folder, Layout(tmp_path), persistent=True)
    try:
        demo, witness, killed = asyncio.run(run(federation, seed))
        unfinished = {row.job: str(row.stage) for row in demo.rows() if row.stage is not Stage.FINISHED}
        stands = asyncio.run(standing(federation, unfinished)) if unfinished else ""
    finally:
        federation.down()
        gc.collect()  # here, and not in whatever test comes next
    assert not unfinished, f"after killing {killed}\n{stands}"
    assert len(killed) == KILLS
    assert witness.proven == []
    wanted = {(job["metadata"]["name"], index) for job in demo.jobs for index in range(job["spec"]["completions"])}
    found = runs(federation)
    assert set(found) == wanted, f"after killing {killed}"
    twice = {run: uids for run, uids in found.items() if len(uids) > 1}
    assert not twice, f"after killing {killed}"

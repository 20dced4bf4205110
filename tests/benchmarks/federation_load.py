"""The load of the federation benchmarks: equal one-pod Jobs, and when each was created, ran, finished and was gone."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from hub.local.federation import Federation, connect
from hub.local.simulation import pod_status
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS, PODS, WORKLOADS, ResourceType
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.errors import NotFound
from worker_agent.kube.informer import Event, Informer, document
from worker_agent.kube.transport import Request

NAMESPACE = "training"
QUEUE = "research"
REQUESTS_AT_A_TIME = 32
CREATED_AT_A_TIME = 128
"""A create waits for webhooks, whose program has other work as soon as the first Job is there. Load is generated
quickest when many of them stand before it whenever it turns to them."""
RUNNING_PODS = f"status.phase={pod_status.RUNNING}"
"""All that is watched of pods: whoever measures many clusters on one machine must not load their servers himself."""
FOR_EVER_SECONDS = 100_000_000.0


@dataclass(frozen=True, slots=True)
class Load:
    """``jobs`` Jobs named ``<prefix>-00000`` on, created at once or ``rate`` a second; each pod runs ``seconds``.

    ``webhooks``: whether webhooks stand by. Where none do, Jobs come as those would leave them; ``dispatched``: those
    of a manager, who sends them to other clusters.
    """

    jobs: int
    prefix: str = "bench"
    rate: float = 0.0
    seconds: float = FOR_EVER_SECONDS
    webhooks: bool = True
    dispatched: bool = True

    def name(self, number: int) -> str:
        return f"{self.prefix}-{number:05d}"

    def job(self, number: int) -> Document:
        container = {
            "name": "c",
            "image": "registry.example/job:1",
            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        }
        defaulted: Document = {} if self.webhooks else {"suspend": True}
        if self.dispatched and not self.webhooks:
            defaulted["managedBy"] = names.MULTIKUEUE_CONTROLLER
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": self.name(number),
                "namespace": NAMESPACE,
                "labels": {"kueue.x-k8s.io/queue-name": QUEUE},
            },
            "spec": {
                **defaulted,
                "parallelism": 1,
                "completions": 1,
                "template": {
                    "metadata": {"annotations": {names.RUN_SECONDS_ANNOTATION: f"{self.seconds:g}"}},
                    "spec": {"restartPolicy": "Never", "containers": [container]},
                },
            },
        }

    async def connect(self, client: Client) -> None:
        """Opens the connections that ``submit`` will use: TLS handshakes are no part of what a job costs."""
        hello = Request("GET", "/version")
        await asyncio.gather(*(client.raw(hello) for _ in range(min(self.jobs, CREATED_AT_A_TIME))))

    async def submit(self, client: Client) -> dict[str, float]:
        """Creates every job; the time each create was sent, on this process's monotonic clock."""
        sent: dict[str, float] = {}
        slots = asyncio.Semaphore(CREATED_AT_A_TIME)

        async def create(number: int) -> None:
            if self.rate:
                await asyncio.sleep(number / self.rate)
            async with slots:
                sent[self.name(number)] = time.monotonic()
                await client.create(JOBS, self.job(number), NAMESPACE)

        await asyncio.gather(*(create(number) for number in range(self.jobs)))
        return sent

    async def delete(self, client: Client) -> None:
        """What a user does with jobs that are done."""
        slots = asyncio.Semaphore(REQUESTS_AT_A_TIME)

        async def delete(number: int) -> None:
            async with slots:
                with contextlib.suppress(NotFound):
                    await client.delete(JOBS, self.name(number), NAMESPACE)

        await asyncio.gather(*(delete(number) for number in range(self.jobs)))


class News:
    """Wakes those who wait for something to come true."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def tell(self) -> None:
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()


@dataclass
class ManagerView:
    """When each Job of the manager was first seen running, ready and finished, on this process's monotonic clock."""

    running: dict[str, float] = field(default_factory=dict)
    ready: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def on_job(self, event: Event[Document]) -> None:
        if event.new is None:
            return
        name, status, now = event.key.name, event.new.get("status", {}), time.monotonic()
        if status.get("active") or status.get("startTime"):
            self.running.setdefault(name, now)
        if status.get("ready"):
            self.ready.setdefault(name, now)
        for condition in status.get("conditions", []):
            if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
                self.finished.setdefault(name, now)
                if condition["type"] == "Failed":
                    self.failed.add(name)


@dataclass
class WorkerView:
    """The pods of every worker: when the first of each Job was seen Running, and where."""

    running: dict[str, float] = field(default_factory=dict)
    cluster: dict[str, str] = field(default_factory=dict)

    def on_pod(self, worker: str, event: Event[Document]) -> None:
        if event.new is None:
            return
        name = event.new["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name", "")
        if name not in self.running:
            self.running[name] = time.monotonic()
            self.cluster[name] = worker


@dataclass
class Watching:
    """The load's own view of a federation: Jobs on the manager, pods on the workers."""

    federation: Federation
    manager: ManagerView
    workers: WorkerView
    clients: dict[str, Client]
    pods: dict[str, Informer[Document]]
    """Those that run."""
    news: News
    """Told after each change."""

    async def finish_pods(self) -> None:
        """What the kubelets write when every container has ended well."""
        slots = asyncio.Semaphore(REQUESTS_AT_A_TIME)

        async def finish(worker: str, pod: Document) -> None:
            client = self.clients[worker]
            meta, now = pod["metadata"], client.clock.now()
            async with slots:
                body = {"status": pod_status.ended(pod, 0, now)}
                with contextlib.suppress(NotFound):
                    await client.patch(
                        PODS,
                        meta["name"],
                        meta["namespace"],
                        body,
                        patch_type=PatchType.MERGE,
                        subresource="status",
                        field_manager="kubelet",
                    )

        running = ((worker, pod) for worker, informer in self.pods.items() for pod in informer.values())
        await asyncio.gather(*(finish(worker, pod) for worker, pod in running))

    async def gone(self) -> None:
        """Waits until no Workload is left on the manager, and nothing on any worker."""
        manager = self.federation.spec.clusters[0].name
        await none_left(self.clients[manager], WORKLOADS)
        await self.workers_empty()

    async def workers_empty(self) -> None:
        """Waits until no worker holds a Workload, Job or pod."""
        for worker in self.federation.spec.workers:
            await asyncio.gather(*(none_left(self.clients[worker.name], kind) for kind in (WORKLOADS, JOBS, PODS)))


@contextlib.asynccontextmanager
async def watching(federation: Federation) -> AsyncIterator[Watching]:
    """Follows the Jobs of the manager and the pods of the workers until the end of the context.

    A cluster without a manager is its own: its users create their Jobs where these run.
    """
    manager = federation.spec.clusters[0]
    async with contextlib.AsyncExitStack() as stack:
        clients = {
            cluster.name: await stack.enter_async_context(connect(federation.layout, cluster.name))
            for cluster in federation.spec.clusters
        }
        news = News()
        found = Watching(federation, ManagerView(), WorkerView(), clients, {}, news)
        jobs = Informer(clients[manager.name], JOBS, document, namespace=NAMESPACE)
        jobs.add_handler(found.manager.on_job)
        jobs.add_handler(lambda event: news.tell())
        await stack.enter_async_context(following(jobs))
        for worker in federation.spec.workers:
            pods = Informer(clients[worker.name], PODS, document, namespace=NAMESPACE, field_selector=RUNNING_PODS)
            pods.add_handler(lambda event, name=worker.name: found.workers.on_pod(name, event))
            pods.add_handler(lambda event: news.tell())
            found.pods[worker.name] = pods
            await stack.enter_async_context(following(pods))
        yield found


@contextlib.asynccontextmanager
async def following(informer: Informer[Document]) -> AsyncIterator[None]:
    """Runs ``informer`` beside the caller, from its first list on."""
    task = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def none_left(client: Client, resource: ResourceType) -> None:
    """Waits until no object of the kind is left in the namespace of the load."""
    news = News()
    objects = Informer(client, resource, document, namespace=NAMESPACE)
    objects.add_handler(lambda event: news.tell())
    async with following(objects):
        await news.until(lambda: not len(objects))

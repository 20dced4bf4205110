"""Many Workloads without a job on one cluster, and what admitting them costs; the agent's histogram of its attempts."""

import asyncio
import contextlib
import re
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

import yaml

from hub.local import programs
from hub.local.federation import Federation
from tests.benchmarks import federation_usage
from tests.benchmarks.dispatch_run import Contender, Figures, Run
from tests.benchmarks.federation_load import NAMESPACE, QUEUE, REQUESTS_AT_A_TIME, News, following, none_left
from tests.benchmarks.load_progress import LoadProgress
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import workload_status
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound
from worker_agent.kube.informer import Event, Informer, document

PREFIX = "alone"
_BUCKET = re.compile(
    r'^kueue_admission_attempt_duration_seconds_bucket\{(?:[^}]*,)?le="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE
)


class Patience:
    """Seconds that may pass without any progress; how long the whole takes does not matter."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def limit(self) -> AsyncIterator[asyncio.Timeout]:
        """Raises TimeoutError when nobody has called ``renew`` for so long."""
        async with asyncio.timeout(self._seconds) as self._limit:
            yield self._limit
        self._limit = None

    def renew(self) -> None:
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)


@dataclass(frozen=True, slots=True)
class Attempts:
    """Admission attempts so far, counted by their upper bounds in seconds (each bound includes those below it)."""

    counts: Mapping[float, float]

    def since(self, earlier: "Attempts") -> "Attempts":
        return Attempts({bound: count - earlier.counts.get(bound, 0.0) for bound, count in self.counts.items()})

    def quantile(self, share: float) -> float | None:
        """The smallest bound that ``share`` of the attempts kept; None where there was none."""
        total = max(self.counts.values(), default=0.0)
        kept = (bound for bound, count in self.counts.items() if total and count >= share * total)
        return min(kept, default=None)


async def attempts(federation: Federation, contender: Contender) -> Attempts:
    """As the agent's metrics tell now; none of the peer, which asks who wants to know."""
    if contender.is_peer:
        return Attempts({})
    name = f"{programs.AGENT}-{federation.spec.workers[0].name}"
    address = yaml.safe_load(federation.layout.configuration(name).read_text())["metrics"]["bindAddress"]

    def read() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            return str(answer.read(), "utf-8")

    counts: dict[float, float] = {}
    for bound, count in _BUCKET.findall(await asyncio.to_thread(read)):
        counts[float(bound)] = counts.get(float(bound), 0.0) + float(count)
    return Attempts(counts)


def peak_mib(federation: Federation) -> float:
    """The most memory that hub or agents have held so far, each by itself."""
    usages = federation_usage.read(federation)
    return round(max(usages[name].peak_bytes for name in federation_usage.controllers(federation)) / 2**20, 1)


async def measure(run: Run, client: Client, count: int, progress: LoadProgress, *, clear: bool) -> Figures:
    """Creates ``count`` Workloads at once and waits until all are admitted; with ``clear`` it deletes them then.

    Raises TimeoutError where not one more was created, admitted or deleted for the run's ``timeout_seconds``.
    """
    admitted: dict[str, float] = {}
    news = News()
    patience = Patience(run.timeout_seconds)

    def on_workload(event: Event[Document]) -> None:
        if event.new is not None and workload_status.is_true(event.new, names.ADMITTED):
            admitted.setdefault(event.key.name, time.monotonic())
            patience.renew()
            news.tell()

    informer = Informer(client, WORKLOADS, document, namespace=NAMESPACE)
    informer.add_handler(on_workload)
    began, start = run.reading(), time.monotonic()
    shown = progress.following(f"{run.contender.name}: Workloads admitted", count, lambda: len(admitted))
    async with following(informer), shown, patience.limit():
        await _at_once(count, lambda name: client.create(WORKLOADS, _workload(name), NAMESPACE))
        submitted = time.monotonic() - start
        await news.until(lambda: len(admitted) >= count)
    interval = max(admitted.values()) - start
    await run.quiet(PREFIX)
    figures = run.phase_figures(began, run.reading(), dict.fromkeys(admitted, ""))
    if clear:
        await _clear(client, count, patience, progress)
    return {
        "workloads": count,
        "submit_seconds": round(submitted, 2),
        "workloads_per_second": round(count / interval, 2),
        "to_admitted": figures,
    }


async def _clear(client: Client, count: int, patience: Patience, progress: LoadProgress) -> None:
    gone = 0

    async def delete(name: str) -> None:
        nonlocal gone
        with contextlib.suppress(NotFound):
            await client.delete(WORKLOADS, name, NAMESPACE)
        gone += 1
        patience.renew()

    async with progress.following("Workloads deleted", count, lambda: gone), patience.limit():
        await _at_once(count, delete)
        await none_left(client, WORKLOADS)


async def _at_once(count: int, act: Callable[[str], Awaitable[object]]) -> None:
    slots = asyncio.Semaphore(REQUESTS_AT_A_TIME)

    async def one(number: int) -> None:
        async with slots:
            await act(f"{PREFIX}-{number:05d}")

    await asyncio.gather(*(one(number) for number in range(count)))


def _workload(name: str) -> Document:
    requests = {"cpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "registry.example/job:1", "resources": {"requests": requests}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"queueName": QUEUE, "podSets": [{"name": "main", "count": 1, "template": template}]},
    }

"""The demo: submit jobs to the manager's queue and follow them, through the API alone, until each has ended."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hub.local import demo_board, objects
from hub.local.demo_board import Row, Stage
from hub.local.demo_jobs import RUN_LABEL
from worker_agent.api.document import Document
from worker_agent.api.resource_type import DEPLOYMENTS, WORKLOADS, ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, ServerError
from worker_agent.kube.informer import Event, Informer, Keep, document

OnChange = Callable[[list[Row]], None]

SUBMIT_CONCURRENCY = 16
RETRY_SECONDS = 0.2
LAST_WORDS_SECONDS = 5.0
"""How long is waited, when all have ended, for the Workload of one that does not say itself when it ended."""
AT_REST = (Stage.SERVING, Stage.FINISHED, Stage.FAILED)


@dataclass
class Demo:
    """One run of ``jobs`` (all of one namespace) against ``client``, the manager. ``run`` is their RUN_LABEL."""

    client: Client
    jobs: list[Document]
    run: str
    on_change: OnChange = lambda rows: None
    _jobs: dict[str, Document] = field(default_factory=dict)
    _workloads: dict[str, Document] = field(default_factory=dict)
    _rows: dict[str, Row] = field(default_factory=dict)
    _done: asyncio.Event = field(default_factory=asyncio.Event)
    _timed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._rows = {(name := job["metadata"]["name"]): Row(name, Stage.QUEUED) for job in self.jobs}

    def _resources(self) -> list[ResourceType]:
        found = {objects.resource_of(job): None for job in self.jobs}
        return list(found)

    async def follow(self, timeout_seconds: float) -> list[Row]:
        """Submits every job and returns their rows when all have ended, or when ``timeout_seconds`` have passed."""
        namespace = self.jobs[0]["metadata"]["namespace"]
        selector = f"{RUN_LABEL}={self.run}"
        sources = [
            Informer(self.client, resource, document, namespace=namespace, label_selector=selector, keep=Keep.DECODED)
            for resource in self._resources()
        ]
        for source in sources:
            source.add_handler(self._on_job)
        workloads = Informer(self.client, WORKLOADS, document, namespace=namespace, keep=Keep.DECODED)
        workloads.add_handler(self._on_workload)
        sources.append(workloads)
        watching = [asyncio.create_task(source.run()) for source in sources]
        try:
            await asyncio.gather(*(source.synced.wait() for source in sources))
            await self._submit()
            async with asyncio.timeout(timeout_seconds):
                await self._done.wait()
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._timed.wait()
        except TimeoutError:
            pass
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
        return self.rows()

    def rows(self) -> list[Row]:
        """A row for every job in the order of submission; one that the server does not show yet is queued."""
        return list(self._rows.values())

    async def _submit(self) -> None:
        slots = asyncio.Semaphore(SUBMIT_CONCURRENCY)

        async def create(job: Document) -> None:
            async with slots:
                await self._create(job)

        async with asyncio.TaskGroup() as group:
            for job in self.jobs:
                group.create_task(create(job))

    async def _create(self, job: Document) -> None:
        """Until it is there: an answer that was lost on the way may have been a success."""
        while True:
            try:
                resource, namespace = objects.resource_of(job), job["metadata"]["namespace"]
                await self.client.create(resource, job, namespace, field_manager="fedhub-demo")
            except AlreadyExists:
                return
            except (ConnectionError, ServerError):
                await self.client.clock.sleep(RETRY_SECONDS)
            else:
                return

    def _on_job(self, event: Event[Document]) -> None:
        if event.new is not None:
            self._jobs[event.new["metadata"]["uid"]] = event.new
            self._show(event.new["metadata"]["uid"])

    def _on_workload(self, event: Event[Document]) -> None:
        if event.new is None:
            return  # its job's last row stands
        for owner in event.new["metadata"].get("ownerReferences", []):
            for uid in self._shown_by(owner):
                self._workloads[uid] = event.new
                self._show(uid)

    def _shown_by(self, owner: Document) -> Iterable[str]:
        """The job itself, and the Deployment whose pod is queued."""
        yield owner["uid"]
        for uid, job in self._jobs.items():
            if job["kind"] == DEPLOYMENTS.kind and owner["name"].startswith(f"{job['metadata']['name']}-"):
                yield uid

    def _show(self, uid: str) -> None:
        """Brings one row up to date: only the job that an event is about is looked at."""
        job = self._jobs.get(uid)
        if job is None:
            return
        row = demo_board.row(job, self._workloads.get(uid))
        if self._rows.get(row.job) == row:
            return
        self._rows[row.job] = row
        self.on_change(self.rows())
        if all(row.stage in AT_REST for row in self._rows.values()):
            self._done.set()
            if all(row.ran is not None for row in self._rows.values() if row.stage is Stage.FINISHED):
                self._timed.set()

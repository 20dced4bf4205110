"""The demo: submit jobs to the manager's queue and follow them, through the API alone, until each has ended."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hub.local import demo_board
from hub.local.demo_board import Row, Stage
from hub.local.demo_jobs import RUN_LABEL
from worker_agent.api.document import Document
from worker_agent.api.resource_type import JOBS, WORKLOADS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, ServerError
from worker_agent.kube.informer import Event, Informer, Keep, document

OnChange = Callable[[list[Row]], None]

SUBMIT_CONCURRENCY = 16
RETRY_SECONDS = 0.2


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

    def __post_init__(self) -> None:
        self._rows = {(name := job["metadata"]["name"]): Row(name, Stage.QUEUED) for job in self.jobs}

    async def follow(self, timeout_seconds: float) -> list[Row]:
        """Submits every job and returns their rows when all have ended, or when ``timeout_seconds`` have passed."""
        namespace = self.jobs[0]["metadata"]["namespace"]
        jobs = Informer(
            self.client,
            JOBS,
            document,
            namespace=namespace,
            label_selector=f"{RUN_LABEL}={self.run}",
            keep=Keep.DECODED,
        )
        workloads = Informer(self.client, WORKLOADS, document, namespace=namespace, keep=Keep.DECODED)
        jobs.add_handler(self._on_job)
        workloads.add_handler(self._on_workload)
        watching = [asyncio.create_task(jobs.run()), asyncio.create_task(workloads.run())]
        try:
            await asyncio.gather(jobs.synced.wait(), workloads.synced.wait())
            await self._submit()
            async with asyncio.timeout(timeout_seconds):
                await self._done.wait()
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
                await self.client.create(JOBS, job, job["metadata"]["namespace"], field_manager="fedhub-demo")
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
            if owner.get("controller"):
                self._workloads[owner["uid"]] = event.new
                self._show(owner["uid"])

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
        if all(row.stage in (Stage.FINISHED, Stage.FAILED) for row in self._rows.values()):
            self._done.set()

"""Jobs that a hub sends are started in the webhook of their creation, as far as the agent's caches allow it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind, prebuilt_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import RESOURCE_FLAVORS, WORKLOADS
from worker_agent.app.job_surroundings import has_multikueue_check
from worker_agent.controllers.fence import Fence
from worker_agent.controllers.job_controller import by_name
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import start_at_creation
from worker_agent.kube.errors import ApiError

log = logging.getLogger(__name__)


Start = Callable[[JobKind, Document], Awaitable[Document]]


def starter(known: KnownObjects, fence: Fence, policy: JobPolicy, patience_seconds: float) -> Start:
    """A function that gives a new job as it shall be created; what may not start by itself yet stays held.

    A lease that is not read within ``patience_seconds`` leaves the job held too: the API server waits for an answer.
    """

    def startable(kind: JobKind, job: Document) -> Document | None:
        name = prebuilt_name(job, policy)
        if not name or not kind.starts_at_creation:
            return None
        workload = known.document(WORKLOADS, Key(job["metadata"].get("namespace", ""), name))
        if workload is None or has_multikueue_check(known, workload):
            return None
        return workload if start_at_creation.may_start(kind, job, workload, policy) else None

    async def start(kind: JobKind, job: Document) -> Document:
        if startable(kind, job) is None:
            return job
        try:
            async with asyncio.timeout(patience_seconds):
                refusal = await fence.refusal(job)
        except TimeoutError:
            refusal = f"the hub's lease was not read within {patience_seconds:g} s"
        except (ApiError, ConnectionError) as error:
            refusal = str(error)
        if refusal:
            metadata = job["metadata"]
            log.warning("%s %s is created held: %s", kind.resource.kind, metadata.get("name", ""), refusal)
            return job
        workload = startable(kind, job)  # it may have been evicted while the lease was read
        if workload is None:
            return job
        return start_at_creation.started(
            kind, job, workload, by_name(known.informer(RESOURCE_FLAVORS).values()), policy
        )

    return start

"""What the job webhooks may look at, taken from the agent's caches at the moment a request comes in."""

from collections.abc import Awaitable, Callable
from typing import Any

from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    NAMESPACES,
    WORKLOAD_PRIORITY_CLASSES,
)
from worker_agent.controllers.ancestors import Ancestors
from worker_agent.controllers.in_use_finalizer import checks_of
from worker_agent.controllers.job_controller import companion_lookup
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.kube.informer import Informer
from worker_agent.validation.jobs import JobSurroundings


def reader(
    known: KnownObjects, ancestors: Ancestors, policy: JobPolicy
) -> Callable[[Document], Awaitable[JobSurroundings]]:
    """A function that gathers the surroundings of one job."""

    async def read(job: Document) -> JobSurroundings:
        lookup = await ancestors.of(job)
        namespace = (job.get("metadata") or {}).get("namespace", "")
        found = known.informer(NAMESPACES).get(Key("", namespace))
        return JobSurroundings(
            policy=policy,
            namespace_labels=None if found is None else found.metadata.labels or {},
            default_queue=Key(namespace, names.DEFAULT_LOCAL_QUEUE) in known.informer(LOCAL_QUEUES),
            default_priority_class=Key("", names.DEFAULT_PRIORITY_CLASS) in known.informer(WORKLOAD_PRIORITY_CLASSES),
            lookup=lookup,
            companion=companion_lookup(known),
            is_dispatched=lambda queue: is_dispatched(known, Key(namespace, queue)),
        )

    return read


def has_multikueue_check(known: KnownObjects, workload: Document) -> bool:
    """Whether the Workload's job runs on another cluster: one of its checks belongs to MultiKueue."""
    checks: Informer[AdmissionCheck] = known.informer(ADMISSION_CHECKS)
    listed = (workload.get("status") or {}).get("admissionChecks") or ()
    named = (checks.get(Key("", each["name"])) for each in listed)
    return any(check is not None and check.spec.controller_name == names.MULTIKUEUE_CONTROLLER for check in named)


def is_dispatched(known: KnownObjects, queue: Key) -> bool:
    """Whether jobs of this LocalQueue go to other clusters: its ClusterQueue has a MultiKueue check."""
    local_queues: Informer[LocalQueue] = known.informer(LOCAL_QUEUES)
    cluster_queues: Informer[ClusterQueue] = known.informer(CLUSTER_QUEUES)
    checks: Informer[AdmissionCheck] = known.informer(ADMISSION_CHECKS)
    local_queue = local_queues.get(queue)
    cluster_queue: Any = local_queue and cluster_queues.get(Key("", local_queue.spec.cluster_queue))
    if cluster_queue is None:
        return False
    named = (checks.get(Key("", name)) for name in checks_of(cluster_queue))
    return any(check is not None and check.spec.controller_name == names.MULTIKUEUE_CONTROLLER for check in named)

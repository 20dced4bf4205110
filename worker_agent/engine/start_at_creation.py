"""A job that a hub sends after its Workload was admitted here starts as it is created, without a write of its own.

Made held and started a moment later it would cost a write of ours, two of the kind's own controller and the events of
both. What cannot be told at this moment is left to ``job_lifecycle``, which starts the held job as it starts any other.
"""

from collections.abc import Mapping

from worker_agent.api import names, workload_name
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import JobKind, NotYetStartable
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import InvalidPodSetInfo
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.engine import fencing, job_matching, job_pod_sets, job_workload, workload_status

_HELD_BACK = (names.FINISHED, names.EVICTED, names.DEACTIVATION_TARGET)


def may_start(kind: JobKind, job: Document, workload: Document | None, policy: JobPolicy) -> bool:
    """Whether ``workload``, which the new ``job`` names as its own, lets it run from the beginning.

    Only for jobs of one object whose pods follow from it alone: others start in several steps or with their companions.
    """
    if workload is None or not kind.starts_at_creation or kind.is_elastic(job, policy) or not kind.is_suspended(job):
        return False
    origin = fencing.origin_of(workload)
    if not origin or origin != fencing.origin_of(job) or at(workload, ("metadata", "ownerReferences"), []):
        return False
    if not workload_name.is_of(workload["metadata"]["name"], kind.resource.kind, job["metadata"].get("name") or ""):
        return False  # several jobs may name one copy that nobody owns yet: only one of them can bear its name
    if workload["metadata"].get("deletionTimestamp") or at(workload, ("spec", "active"), True) is False:
        return False
    admitted = workload_status.is_true(workload, names.ADMITTED)
    return admitted and not any(workload_status.is_true(workload, type_) for type_ in _HELD_BACK)


def started(
    kind: JobKind, job: Document, workload: Document, flavors: Mapping[str, ResourceFlavor], policy: JobPolicy
) -> Document:
    """The job unsuspended, with what the admission injects; as it is where the two differ or it cannot be told."""
    owned = put(workload, ("metadata", "ownerReferences"), [job_workload.controller_reference(kind, job)])
    try:
        if not job_matching.is_equivalent(kind, job, owned, flavors, policy):
            return job
        infos = job_pod_sets.infos_of_admission(workload, flavors, policy)
        steps = kind.start_steps(job, infos, policy)
    except (job_pod_sets.FlavorMissing, NotYetStartable, PodSetsUnknown, InvalidPodSetInfo):
        return job
    return steps[0] if len(steps) == 1 else job

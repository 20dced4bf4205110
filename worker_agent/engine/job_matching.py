"""Does this Workload still describe this job? (spec/jobs 5.5)"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from worker_agent.api import frameworks, names, quantity
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.topology_request import parse_int32
from worker_agent.engine import job_pod_sets, workload_status

_QUANTITY_MAPS: Final = frozenset({"requests", "limits"})
_UNSAID: Final = (None, "")
_PORT_PROTOCOL: Final = ("protocol", "TCP")
"""The one default with a meaning that API servers write into containers: those of other projects' kinds may not."""


def max_execution_seconds(job: Document) -> int | None:
    """The limit from the job's label; None without one, or with one that is no positive integer."""
    text = at(job, ("metadata", "labels"), {}).get(names.MAX_EXEC_TIME_LABEL, "")
    try:
        seconds = parse_int32(text)
    except ValueError:
        return None
    return seconds if seconds > 0 else None


def is_equivalent(
    kind: JobKind, job: Document, workload: Document, flavors: Mapping[str, ResourceFlavor], policy: JobPolicy
) -> bool:
    """Whether the Workload is this job's, in its present form.

    A Workload with quota is compared in its running form first; a suspended job may also still have the plain one.
    Raises TopologyRequestError.
    """
    if not _is_owner(job, workload, policy):
        return False
    if at(workload, ("spec", "maximumExecutionTimeSeconds")) != max_execution_seconds(job):
        return False
    pod_sets = job_pod_sets.of_job(kind, job, policy)
    plain = at(workload, ("spec", "podSets"), [])
    ignore_tolerations = workload_status.is_true(workload, "Admitted")
    # What an admission injects changes no container: beside tolerations only a partial grant makes a difference.
    differs = not ignore_tolerations or job_pod_sets.may_be_partial(workload)
    if differs and workload_status.is_true(workload, "QuotaReserved"):
        running = job_pod_sets.running_form(workload, flavors, policy)
        if running is not None:
            if same_pod_sets(pod_sets, running, ignore_tolerations):
                return True
            return kind.is_suspended(job) and same_pod_sets(pod_sets, plain, ignore_tolerations)
    return same_pod_sets(pod_sets, plain, ignore_tolerations)


def _is_owner(job: Document, workload: Document, policy: JobPolicy) -> bool:
    owner = frameworks.controller_of(workload) or {}
    metadata = job["metadata"]
    if owner.get("name", "") != metadata.get("name", ""):
        return False
    return not policy.finish_orphans or owner.get("uid", "") == metadata.get("uid", "")


def same_pod_sets(ours: Sequence[Document], theirs: Sequence[Document], ignore_tolerations: bool = False) -> bool:
    """Equal counts, containers and (unless ignored) tolerations, pod set by pod set in order.

    Names, node selectors, affinity and labels do not count: they do not change what quota the pods need.
    """
    if len(ours) != len(theirs):
        return False
    return all(_same_pod_set(a, b, ignore_tolerations) for a, b in zip(ours, theirs, strict=True))


def _same_pod_set(ours: Document, theirs: Document, ignore_tolerations: bool) -> bool:
    if ours.get("count", 1) != theirs.get("count", 1) or ours.get("minCount") != theirs.get("minCount"):
        return False
    fields = ("initContainers", "containers") if ignore_tolerations else ("tolerations", "initContainers", "containers")
    a, b = at(ours, ("template", "spec"), {}), at(theirs, ("template", "spec"), {})
    return all(_mean_the_same(a.get(field), b.get(field)) for field in fields)


def _mean_the_same(ours: Any, theirs: Any) -> bool:
    # Nearly always one was copied from the other, and equal values are told in a fraction of the time.
    return bool(ours == theirs) or normal(ours) == normal(theirs)


def normal(value: Any, *, quantities: bool = False) -> Any:
    """``value`` without what means nothing (nulls, empty maps, lists and texts), quantities as their exact value.

    So that the forms one object takes on its way through API servers compare equal, with their defaults and without.
    """
    if isinstance(value, dict):
        kept = (
            (name, _quantity(inner) if quantities else normal(inner, quantities=name in _QUANTITY_MAPS))
            for name, inner in value.items()
        )
        return {name: inner for name, inner in kept if inner not in _UNSAID and (name, inner) != _PORT_PROTOCOL} or None
    if isinstance(value, list):
        return [normal(inner) for inner in value] or None
    return value


def _quantity(value: Any) -> Any:
    try:
        return quantity.nanos(value)
    except quantity.QuantityError:
        return value

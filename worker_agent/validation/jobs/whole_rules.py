"""Kinds whose webhooks share too little with those of other kinds to be rules beside theirs (spec/jobs 8, 9.10-13)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from worker_agent.api.document import Document
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.jobs import deployment, leader_worker_set, pod, pod_defaulting, stateful_set
from worker_agent.validation.jobs.surroundings import JobSurroundings


def _no_warnings(new: Document, old: Document | None, around: JobSurroundings) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class WholeRules:
    """``create`` and ``update`` are all rules of the kind; ``default``, where given, is the whole mutating webhook."""

    create: Callable[[Any, Document, JobSurroundings], list[FieldError]]
    update: Callable[[Any, Document, Document, JobSurroundings], list[FieldError]]
    default: Callable[[Any, Document, JobSurroundings], Document] | None = None
    warnings: Callable[[Document, Document | None, JobSurroundings], list[str]] = _no_warnings


WHOLE_RULES: Final[dict[str, WholeRules]] = {
    "deployment": WholeRules(deployment.create_errors, deployment.update_errors),
    "statefulset": WholeRules(stateful_set.create_errors, stateful_set.update_errors),
    "leaderworkerset.x-k8s.io/leaderworkerset": WholeRules(
        leader_worker_set.create_errors, leader_worker_set.update_errors
    ),
    "pod": WholeRules(pod.create_errors, pod.update_errors, pod_defaulting.default_pod, pod.warnings),
}
"""By framework name."""

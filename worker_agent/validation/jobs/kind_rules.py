"""The shape of rules that one kind has beyond those all kinds share."""

from collections.abc import Callable
from dataclasses import dataclass

from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.validation.field_error import FieldError

CreateRule = Callable[[JobKind, Document, JobPolicy], list[FieldError]]
UpdateRule = Callable[[JobKind, Document, Document, JobPolicy], list[FieldError]]


def always_looked_at(new: Document, old: Document, policy: JobPolicy) -> bool:
    return True


def always_placed(job: Document, policy: JobPolicy) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class KindRules:
    """``update`` gets the new and the old job, and repeats of ``create`` what still has to hold.

    ``looked_at`` tells whether an update is checked at all, ``places`` whether topology annotations are.
    """

    create: CreateRule
    update: UpdateRule
    looked_at: Callable[[Document, Document, JobPolicy], bool] = always_looked_at
    places: Callable[[Document, JobPolicy], bool] = always_placed

"""Which kinds have rules beyond their schema, and where they are: what the webhook shell serves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker_agent.api.document import Document
from worker_agent.api.resource_type import KUEUE
from worker_agent.validation.cluster_queue import default_cluster_queue, validate_cluster_queue
from worker_agent.validation.cohort import validate_cohort
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.policy import ValidationPolicy
from worker_agent.validation.resource_flavor import default_resource_flavor, validate_resource_flavor
from worker_agent.validation.workload import default_workload, validate_workload


@dataclass(frozen=True, slots=True)
class Validator:
    """``default`` runs at creation and returns the document itself when nothing is to be set; None: no defaults."""

    validate: Callable[[Document, Document | None, ValidationPolicy], list[FieldError]]
    default: Callable[[Document, ValidationPolicy], Document] | None = None


registry: Final[dict[tuple[str, str], Validator]] = {
    (KUEUE, "ClusterQueue"): Validator(validate_cluster_queue, default_cluster_queue),
    (KUEUE, "Cohort"): Validator(validate_cohort),
    (KUEUE, "ResourceFlavor"): Validator(validate_resource_flavor, default_resource_flavor),
    (KUEUE, "Workload"): Validator(validate_workload, default_workload),
}
"""By (group, kind). Kinds that are not here rely on their schema alone."""

"""Which events are worth an object in the API server: what is told in one place is not told again in another."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.engine.intents import RecordEvent

SUPERSEDES: Final = {"Started": "CreatedWorkload", "Admitted": "QuotaReserved"}
"""Steps that make an earlier one about the same object superfluous, where both come within a short time: a job that
starts has a Workload, one that is admitted has quota."""


def is_told(document: Document, event: RecordEvent) -> bool:
    """Whether an event about ``document`` is recorded. What a hub sent here has its readers on the manager, where the
    same steps are told; troubles are told wherever they happen."""
    if event.type != "Normal":
        return True
    return not value_at(document, "metadata.labels", {}).get(names.MULTIKUEUE_ORIGIN_LABEL)

"""Job kinds: one file per kind. ``KINDS`` holds them by framework name; everything generic follows from it."""

from typing import Final

from worker_agent.api.job_kind import JobKind
from worker_agent.jobs.batch_job import BatchJob

KINDS: Final[dict[str, JobKind]] = {kind.framework: kind for kind in (BatchJob(),)}

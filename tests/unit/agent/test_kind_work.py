"""How kinds are named in the settings of concurrency."""

from worker_agent.api.resource_type import JOBS, PODS
from worker_agent.app.kind_work import group_kind


def test_kinds_are_named_with_their_group():
    assert group_kind(JOBS) == "Job.batch"
    assert group_kind(PODS) == "Pod"

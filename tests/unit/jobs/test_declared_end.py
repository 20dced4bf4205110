"""How the end of a kind that users declare is written where only its Workload tells of it."""

import pytest

from worker_agent.api.job_kind import Finish
from worker_agent.api.resource_type import ResourceType
from worker_agent.jobs.declared import Declaration, Sign, kind_of

from .builders import NOW

RESOURCE = ResourceType("example.com", "v1", "Render", "renders")
BY_CONDITION = Declaration(RESOURCE, (), succeeded=Sign("Done"), failed=Sign("Broken"), ready=Sign("Up"))
BY_PHASE = Declaration(
    RESOURCE, (), succeeded=Sign(path="status.phase", values=("Done",)), failed=Sign(path="status.error")
)


@pytest.mark.parametrize("declaration", [BY_CONDITION, BY_PHASE], ids=["condition", "field"])
@pytest.mark.parametrize("success", [True, False])
def test_a_declared_kind_ends_by_its_own_sign(declaration, success):
    kind = kind_of(declaration)
    ended = kind.ended({"metadata": {}, "status": {"phase": "Going"}}, Finish(success, ""), NOW)
    found = kind.finished(ended)
    assert found is not None
    assert found.success is success


def test_a_kind_that_declares_no_end_is_left_as_it_is():
    job = {"metadata": {}, "status": {"phase": "Going"}}
    assert kind_of(Declaration(RESOURCE, ())).ended(job, Finish(True, ""), NOW) is job

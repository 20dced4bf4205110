"""The simulated Spark operator: what it tells of an application from its driver."""

import pytest

from hub.local.simulation.operators.spark import OPERATOR
from tests.races.subjects import SUBJECTS
from tests.races.world import START
from worker_agent.api.resource_type import PODS


@pytest.mark.parametrize(("metadata", "state"), [({}, "FAILED"), ({"deletionTimestamp": "t"}, "SUBMITTED")])
def test_driver_that_a_stop_ended_fails_nothing(metadata, state):
    (application,) = SUBJECTS["SparkApplication"].documents(6)
    application["metadata"]["uid"] = "u"
    driver = {"metadata": {"name": "sparkapplication-race-driver", **metadata}, "status": {"phase": "Failed"}}
    plan = OPERATOR.decide(application, {PODS: [driver]}, START)
    assert plan.status is not None
    assert plan.status["applicationState"]["state"] == state

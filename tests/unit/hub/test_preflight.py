"""What workers are asked before a job is sent there."""

from hub.controllers import preflight
from hub.engine import needs
from worker_agent.api.resource_type import ResourceType
from worker_agent.tunnel import allow_list, api_request
from worker_agent.tunnel.allow_list import AllowList

RUNS = ResourceType("example.com", "v1", "Run", "runs")


def test_an_agent_lets_its_hub_ask_whether_a_kind_is_served():
    question = preflight.question("ns", needs.served(RUNS), "manager")
    allowed = AllowList("manager", allow_list.default_rules([RUNS])).rule_for(api_request.parse(question))
    assert (allowed.group, allowed.resource) == ("example.com", "runs")
    assert "as=PartialObjectMetadataList;" in question.headers["accept"]

"""``fedhub-agent kinds``: what the agent is set to serve, and what of it the cluster has."""

from tests import api_servers
from worker_agent.app import configuration
from worker_agent.cli import served_kinds
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.settings import AgentSettings


async def listed(*frameworks):
    enabled = configuration.resolve(AgentSettings(integrations={"frameworks": list(frameworks)})).kinds
    async with api_servers.in_memory(1) as (server,):
        return await served_kinds.ask(Client(server.transport, SystemClock()), enabled.values())


async def test_kind_without_definition_is_waited_for():
    job, job_set = await listed("batch/job", "jobset.x-k8s.io/jobset")
    assert (job.served, job_set.served) == (True, False)
    assert served_kinds.lines([job, job_set])[2].split("   ")[2].startswith("no, waiting for its definition")


async def test_serving_kinds_bring_pods_along():
    assert [each.framework for each in await listed("deployment")] == ["deployment", "pod"]

"""Which of several replicas leads, as the settings ask for it."""

from worker_agent.kube.client import Client
from worker_agent.kube.lease import LeaderElection, LeaseTiming
from worker_agent.settings import AgentSettings


def election(settings: AgentSettings, client: Client, identity: str) -> LeaderElection | None:
    """None where one replica is all there is, which leads from its start."""
    asked = settings.leader_election
    if not asked.leader_elect:
        return None
    timing = LeaseTiming(
        asked.lease_duration.total_seconds(),
        asked.renew_deadline.total_seconds(),
        asked.retry_period.total_seconds(),
    )
    namespace = asked.resource_namespace or settings.namespace
    return LeaderElection(client, asked.resource_name, namespace, identity, client.clock, timing)
